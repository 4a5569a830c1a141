"""Feature files: names, kinds, memory-mapping, and the reference numbers of Office-Caltech."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from sklearn.preprocessing import normalize

from vmtl import MultiTaskClassifier
from vmtl.data.duplicates import duplicate_groups
from vmtl.data.splits import document_split
from vmtl.datasets import load_digits_domains, load_npz, load_rotated_digits, open_features, row_batches, save_npz

Reference = Callable[..., dict[str, float]]


def test_a_file_without_names_is_numbered(tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", X=np.zeros((3, 2)), y=np.array(["b", "a", "b"]), domain=np.array([7, 9, 7]))
    problem = load_npz(tmp_path / "f.npz")
    assert problem.class_names == ("a", "b")
    assert problem.y.tolist() == [1, 0, 1]
    assert problem.task_names == ("7", "9")
    assert problem.task.tolist() == [0, 1, 0]


def test_float_targets_are_regression_unless_said_otherwise(tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", X=np.zeros((3, 2)), y=np.array([1.0, 2.0, 1.0]), domain=np.zeros(3, int))
    assert not load_npz(tmp_path / "f.npz").is_classification
    assert load_npz(tmp_path / "f.npz", kind="classification").class_names == ("1.0", "2.0")
    with pytest.raises(ValueError, match="choose one of"):
        load_npz(tmp_path / "f.npz", kind="ranking")


@pytest.mark.parametrize("load", [load_digits_domains, load_rotated_digits])
def test_saving_and_loading_keeps_everything(load: object, tmp_path: Path) -> None:
    problem = load()  # type: ignore[operator]
    save_npz(problem, tmp_path / "f.npz")
    again = load_npz(tmp_path / "f.npz")
    for field in ("X", "y", "task", "paths", "groups"):
        np.testing.assert_array_equal(getattr(problem, field), getattr(again, field))
    assert (problem.task_names, problem.class_names) == (again.task_names, again.class_names)
    assert [file.name for file in tmp_path.iterdir()] == ["f.npz"]


def test_a_missing_array_is_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", X=np.zeros((3, 2)), y=np.zeros(3))
    with pytest.raises(ValueError, match=r"no array 'domain', only \['X', 'y'\]"):
        load_npz(tmp_path / "f.npz")
    np.savez(tmp_path / "g.npz", domain=np.zeros(3), y=np.zeros(3))
    with pytest.raises(FileNotFoundError, match=r"g\.npy"):
        load_npz(tmp_path / "g.npz")


def test_features_beside_the_labels_are_memory_mapped(tmp_path: Path) -> None:
    np.save(tmp_path / "f.npy", np.arange(6.0).reshape(3, 2))
    np.savez(tmp_path / "f.npz", y=np.array([0, 1, 0]), domain=np.zeros(3, int))
    for features in (None, tmp_path / "f.npy"):
        problem = load_npz(tmp_path / "f.npz", features=features)
        assert isinstance(problem.X, np.memmap)
        np.testing.assert_array_equal(problem.subset([2]).X, [[4, 5]])


SWEEP = """
import itertools, sys
from pathlib import Path
from vmtl.datasets import open_features, row_batches

X = open_features(sys.argv[1])
assert X.shape == (500_000, 4096)
assert sum(float(block.sum()) for block in itertools.islice(row_batches(X), 30)) == 0  # 2 GB
assert float(X[-1].sum()) == 4096
status = Path('/proc/self/status').read_text()
print(status.split('VmHWM:')[1].split()[0])
"""


@pytest.fixture
def sparse_file(tmp_path: Path) -> Path:
    """500,000 x 4,096 float32, 8 GB that take no room on the disk; the last row is ones."""
    X = np.lib.format.open_memmap(tmp_path / "f.npy", mode="w+", dtype=np.float32, shape=(500_000, 4096))
    X[-1] = 1
    X.flush()
    return tmp_path / "f.npy"


def test_only_the_rows_in_use_are_in_memory(sparse_file: Path) -> None:
    run = subprocess.run([sys.executable, "-c", SWEEP, str(sparse_file)], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 1_500_000  # kilobytes


def test_a_file_larger_than_memory_is_predicted_in_batches(sparse_file: Path) -> None:
    X = open_features(sparse_file)
    train = np.random.default_rng(0).standard_normal((24, 4096)).astype(np.float32)
    train[::2] = 1
    y, tasks = np.tile(["one", "other"], 12), np.repeat(["a", "b"], 12)
    model = MultiTaskClassifier(random_state=0).fit(train, y, tasks=tasks)
    for block in islice(row_batches(X, 256), 2):
        assert len(model.predict(block, tasks=["a"] * len(block))) == 256
    assert model.predict(X[-1:], tasks=["b"]).tolist() == ["one"]


def test_batches_cover_all_rows_in_order() -> None:
    X = np.arange(22, dtype=np.float16).reshape(11, 2)
    blocks = list(row_batches(X, size=4))
    assert [len(block) for block in blocks] == [4, 4, 3]
    assert blocks[0].dtype == np.float32
    np.testing.assert_array_equal(np.concatenate(blocks), X)


def test_a_feature_file_needs_two_axes(tmp_path: Path) -> None:
    np.save(tmp_path / "f.npy", np.zeros(3))
    with pytest.raises(ValueError, match="one row per example"):
        open_features(tmp_path / "f.npy")


@pytest.mark.parametrize(
    ("percent", "n_train", "per_task", "pooled"),
    [(5, 78, 89.6, 95.8), (10, 151, 89.9, 96.7), (20, 300, 95.8, 96.7)],
)
def test_office_caltech_reference(
    real_data: Path, reference: Reference, percent: int, n_train: int, per_task: float, pooled: float
) -> None:
    problem = load_npz(real_data / "data" / "office_caltech_effnetlite0.npz")
    split = document_split(problem, real_data / "splits" / "office-caltech", percent)
    assert split.unmatched == ()
    assert len(split.train) == n_train
    accuracy = reference(problem, split, C=100, X=normalize(problem.X.astype(np.float64)))
    assert accuracy["per task"] == pytest.approx(per_task, abs=0.5)
    assert accuracy["pooled"] == pytest.approx(pooled, abs=0.5)


def test_office_caltech_has_eighteen_groups_of_copies(real_data: Path) -> None:
    problem = load_npz(real_data / "data" / "office_caltech_effnetlite0.npz")
    assert np.sum(np.bincount(duplicate_groups(problem.X)) > 1) == 18
