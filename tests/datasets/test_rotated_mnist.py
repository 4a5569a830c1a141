"""Rotated MNIST: IDX files, disjoint images, exact shares, little memory."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vmtl.datasets import load_rotated_mnist
from vmtl.datasets.rotated_mnist import read_idx


@pytest.fixture
def tiny_mnist(tmp_path: Path) -> Path:
    """400 made images, 40 of each digit, in the IDX format."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (400, 28, 28), dtype=np.uint8)
    labels = np.resize(np.arange(10, dtype=np.uint8), 400)
    header = np.array([2051, 400, 28, 28], dtype=">i4").tobytes()
    (tmp_path / "train-images-idx3-ubyte").write_bytes(header + images.tobytes())
    zipped = gzip.compress(np.array([2049, 400], dtype=">i4").tobytes() + labels.tobytes())
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(zipped)
    return tmp_path


def test_rows_are_drawn_per_digit_and_images_are_used_once(tiny_mnist: Path) -> None:
    problem, split = load_rotated_mnist(tiny_mnist, percent=5, n_test=100)
    assert np.bincount(problem.task[split.train]).tolist() == [20] * 10
    assert np.bincount(problem.task[split.test]).tolist() == [10] * 10
    assert problem.groups is not None
    assert len(set(problem.groups)) == problem.n_rows
    for t in range(10):
        own = split.train[problem.task[split.train] == t]
        assert np.unique(problem.y[own], return_counts=True)[1].tolist() == [2] * 10


def test_images_are_turned_by_their_target(tiny_mnist: Path) -> None:
    problem, _ = load_rotated_mnist(tiny_mnist, percent=5, n_test=100)
    assert sorted(set(problem.y.tolist())) == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]
    assert problem.groups is not None
    originals = read_idx(tiny_mnist, "images")[problem.groups] / np.float32(255)
    for angle in (0, 90):  # the angles that need no interpolation
        rows = np.flatnonzero(problem.y == angle)
        turned = np.rot90(originals[rows], k=angle // 90, axes=(1, 2)).reshape(len(rows), -1)
        np.testing.assert_allclose(problem.X[rows], turned, atol=1e-5)


def test_the_seed_decides(tiny_mnist: Path) -> None:
    first, again, other = (load_rotated_mnist(tiny_mnist, 5, seed, 100)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)


def test_bad_files_are_explained(tiny_mnist: Path) -> None:
    with pytest.raises(ValueError, match="choose numbers that fit"):
        load_rotated_mnist(tiny_mnist, percent=5, n_test=1000)
    file = tiny_mnist / "train-images-idx3-ubyte"
    file.write_bytes(file.read_bytes()[:-5])
    with pytest.raises(ValueError, match="not a complete IDX file"):
        load_rotated_mnist(tiny_mnist, percent=5, n_test=100)
    file.unlink()
    with pytest.raises(FileNotFoundError, match="original files"):
        load_rotated_mnist(tiny_mnist)


@pytest.mark.parametrize(("percent", "per_angle"), [(0.1, 6), (0.2, 12)])
def test_the_paper_shares_on_real_digits(real_data: Path, percent: float, per_angle: int) -> None:
    problem, split = load_rotated_mnist(real_data / "data" / "mnist", percent, n_test=1000)
    assert abs(len(split.train) - percent * 6000) <= 2
    cells = np.unique(np.stack([problem.task, problem.y])[:, split.train], axis=1, return_counts=True)[1]
    assert abs(cells.mean() - per_angle) < 0.1


def test_memory_stays_below_one_gigabyte(real_data: Path) -> None:
    code = (
        "from pathlib import Path; from vmtl.datasets import load_rotated_mnist;"
        f"load_rotated_mnist({str(real_data / 'data' / 'mnist')!r}, 0.1);"
        "status = Path('/proc/self/status').read_text();"  # ru_maxrss starts at the size of the parent process
        "print(status.split('VmHWM:')[1].split()[0])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 1_000_000  # kilobytes
