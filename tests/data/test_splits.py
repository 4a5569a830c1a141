"""Splits: documents are matched exactly; seeded splits cover classes, nest, and keep duplicates together."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtl.data.duplicates import duplicate_groups
from vmtl.data.problem import Problem
from vmtl.data.splits import document_split, holdout, kfold, random_split, read_split_document


def toy(n: int = 200, T: int = 3, C: int = 4, seed: int = 0, **fields: object) -> Problem:
    rng = np.random.default_rng(seed)
    return Problem(
        name="toy",
        X=rng.standard_normal((n, 5)),
        y=rng.integers(C, size=n),
        task=rng.integers(T, size=n),
        task_names=tuple("abcdefgh"[:T]),
        class_names=tuple(str(c) for c in range(C)),
        **fields,  # type: ignore[arg-type]
    )


def pairs(problem: Problem, rows: np.ndarray) -> set[tuple[int, int]]:
    return set(zip(problem.task[rows].tolist(), problem.y[rows].tolist(), strict=True))


@given(st.integers(0, 50), st.floats(0.02, 0.9), st.booleans())
def test_every_class_of_every_task_is_covered(seed: int, fraction: float, nested: bool) -> None:
    problem = toy(seed=seed)
    split = random_split(problem, fraction, seed, nested=nested)
    assert sorted([*split.train, *split.test]) == list(range(problem.n_rows))
    assert pairs(problem, split.train) == pairs(problem, np.arange(problem.n_rows))
    for t in range(problem.n_tasks):
        n = np.sum(problem.task == t)
        classes = len(np.unique(problem.y[problem.task == t]))
        assert np.sum(problem.task[split.train] == t) == max(round(fraction * n), classes)


def test_classes_keep_their_proportions() -> None:
    y = np.repeat([0, 1], [800, 200])
    problem = Problem("p", np.arange(1000.0)[:, None], y, np.zeros(1000, int), ("a",), ("x", "y"))
    train = random_split(problem, 0.1, 3).train
    assert abs(np.sum(y[train] == 1) - 20) <= 1


def test_the_seed_decides() -> None:
    problem = toy()
    same = [random_split(problem, 0.2, 7).train for _ in range(2)]
    np.testing.assert_array_equal(*same)
    assert set(same[0]) != set(random_split(problem, 0.2, 8).train)


@given(st.integers(0, 30))
def test_nested_fractions_grow(seed: int) -> None:
    problem = toy(seed=seed, groups=np.random.default_rng(seed).integers(90, size=200))
    train = [set(random_split(problem, f, seed, nested=True).train) for f in (0.05, 0.1, 0.2, 0.5)]
    assert all(small <= large for small, large in pairwise(train))
    assert len(train[0]) < len(train[-1])


def test_fractions_are_independent_unless_nested() -> None:
    problem = toy()
    assert not set(random_split(problem, 0.1, 0).train) <= set(random_split(problem, 0.2, 0).train)


@pytest.mark.parametrize("as_frame", [False, True])
def test_exact_duplicates_stay_on_one_side(as_frame: bool) -> None:
    base = toy()
    X = base.X.copy()
    X[100:] = X[:100]
    problem = Problem("p", pd.DataFrame(X) if as_frame else X, base.y, base.task, base.task_names, base.class_names)
    copies = duplicate_groups(problem.X)
    assert len(np.unique(copies)) == 100
    splits = [random_split(problem, 0.3, 1), holdout(problem, 0.3, 1), *kfold(problem, 3)]
    for split in splits:
        assert not set(copies[split.train]) & set(copies[split.test])
    torn = random_split(problem, 0.3, 1, keep_duplicates_together=False)
    assert set(copies[torn.train]) & set(copies[torn.test])


def test_object_rows_are_compared_by_value() -> None:
    X = np.array([["a" + "b"], ["".join(["a", "b"])], ["c"]], dtype=object)
    assert duplicate_groups(X).tolist() == [0, 0, 1]


def test_groups_take_the_place_of_bytes() -> None:
    groups = np.arange(200) // 4
    problem = toy(groups=groups)
    for split in (random_split(problem, 0.25, 0), *kfold(problem, 4)):
        assert not set(groups[split.train]) & set(groups[split.test])


def test_kfold_tests_every_row_once_and_deals_classes_evenly() -> None:
    problem = toy(n=400)
    folds = kfold(problem, 5, seed=2)
    assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(400))
    for fold in folds:
        assert abs(len(fold.test) - 80) <= 1
        assert not set(fold.train) & set(fold.test)
        for t, c in pairs(problem, fold.train):
            inside = np.sum((problem.task == t) & (problem.y == c))
            here = np.sum((problem.task[fold.test] == t) & (problem.y[fold.test] == c))
            assert abs(here - inside / 5) < 1


def test_folds_and_holdout_stay_inside_the_given_rows() -> None:
    problem = toy()
    train = random_split(problem, 0.5, 0).train
    for split in (*kfold(problem, 3, rows=train), holdout(problem, 0.2, rows=train)):
        assert set(split.train) | set(split.test) == set(train)
    held = holdout(problem, 0.2, rows=train)
    assert pairs(problem, held.train) == pairs(problem, train)
    assert 0.1 < len(held.test) / len(train) < 0.25


def test_regression_splits_every_task() -> None:
    rng = np.random.default_rng(0)
    task = np.repeat([0, 1, 2], [10, 50, 200])
    problem = Problem("r", rng.standard_normal((260, 3)), rng.standard_normal(260), task, ("a", "b", "c"))
    split = random_split(problem, 0.05, 0)
    assert np.bincount(task[split.train]).tolist() == [1, 2, 10]
    assert len(kfold(problem, 4)) == 4


@pytest.mark.parametrize("fraction", [0, 1, -0.1, 5])
def test_a_fraction_outside_zero_and_one_is_refused(fraction: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        random_split(toy(), fraction)
    with pytest.raises(ValueError, match="between 0 and 1"):
        holdout(toy(), fraction)


def test_too_many_folds_are_refused() -> None:
    with pytest.raises(ValueError, match="from 2 to 20"):
        kfold(toy(n=20), 21)


# --- documents ---


@pytest.fixture
def documented(tmp_path: Path) -> tuple[Problem, Path]:
    paths = np.array([f"{d}/{c}/{i}.jpg" for d in ("Art", "Real World") for c in "xy" for i in range(3)])
    y = np.array([0, 0, 0, 1, 1, 1] * 2)
    problem = Problem("p", np.zeros((12, 1)), y, np.repeat([0, 1], 6), ("Art", "Real World"), ("x", "y"), paths)
    for name in ("Art", "Real_World"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train_5.txt").write_text(f"{name}/y/0.jpg 1\n{name}/x/0.jpg 0\n" * 2)
        (tmp_path / name / "test_5.txt").write_text(f"{name}/x/1.jpg 0\n\n{name}/y/2.jpg 1\n")
    return problem, tmp_path


def test_documents_are_read_once_per_line_and_matched(documented: tuple[Problem, Path]) -> None:
    problem, folder = documented
    document = read_split_document(folder / "Art" / "train_5.txt")
    assert document.paths == ("Art/y/0.jpg", "Art/x/0.jpg")
    assert document.n_lines == 4
    split = document_split(problem, folder, 5)
    assert split.train.tolist() == [0, 3, 6, 9]
    assert split.test.tolist() == [1, 5, 7, 11]
    assert split.unmatched == ()


def test_unmatched_lines_are_reported(documented: tuple[Problem, Path]) -> None:
    problem, folder = documented
    with (folder / "Art" / "test_5.txt").open("a") as stream:
        stream.write("Art/y/99.jpg 1\n")
    with pytest.raises(ValueError, match=r"1 lines.*Art/y/99\.jpg"):
        document_split(problem, folder, 5)
    assert document_split(problem, folder, 5, unmatched="report").unmatched == ("Art/y/99.jpg",)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("Art/x/1.jpg", "class number"),
        ("Art/x/1.jpg ²", "class number"),
        ("Art/x/1.jpg " + "9" * 400, "class number"),
        ("Art/x/1.jpg 1", "number the classes alike"),
        ("Art/x/0.jpg 0", "in training and in test"),
        ("Art/x/2.jpg 0\nArt/x/2.jpg 1", "second label"),
    ],
)
def test_broken_documents_are_explained(documented: tuple[Problem, Path], line: str, message: str) -> None:
    problem, folder = documented
    (folder / "Art" / "test_5.txt").write_text(line + "\n")
    with pytest.raises(ValueError, match=message):
        document_split(problem, folder, 5)


def test_a_document_that_is_no_text_is_explained(tmp_path: Path) -> None:
    (tmp_path / "train_5.txt").write_bytes(b"Art/\xff.jpg 1\n")
    with pytest.raises(ValueError, match=r"train_5\.txt is not UTF-8 text; save it as UTF-8\.$"):
        read_split_document(tmp_path / "train_5.txt")


def test_a_percentage_or_task_without_documents_is_explained(documented: tuple[Problem, Path]) -> None:
    problem, folder = documented
    with pytest.raises(ValueError, match="percentage that the documents have"):
        document_split(problem, folder, 7)
    with pytest.raises(ValueError, match="no folder for task 'Art'"):
        document_split(problem, folder / "Art", 5)
