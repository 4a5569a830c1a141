"""Rotated MNIST: each digit a task, the rotation angle the target (the paper's regression benchmark)."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from vmtl._utils.types import Array
from vmtl.data.problem import Problem
from vmtl.data.splits import Split
from vmtl.datasets._rotation import rotate_images

ANGLES = tuple(range(0, 91, 10))
_MAGIC = {"images": 2051, "labels": 2049}


def load_rotated_mnist(
    root: str | Path, percent: float = 0.1, seed: int = 0, n_test: int = 10_000
) -> tuple[Problem, Split]:
    """Draw ``percent`` of the 600,000 rotated training images, and a test sample from the other images.

    The 60,000 images times ten angles (0, 10, ..., 90 degrees) are never all rotated: rows are drawn first, then
    only those are rotated. At 0.1 and 0.2 % a task has about 60 and 120 training rows, 6 and 12 per angle.
    No image appears twice, so no other rotation of a training image is in the test set. Targets are degrees.

    Parameters
    ----------
    root : path
        The folder with MNIST's original files.
    percent : float, default=0.1
        Percent of the rotated images that are for training.
    seed : int, default=0
        Where the draw comes from.
    n_test : int, default=10000
        Test images of all tasks together.
    """
    images, digit = read_idx(root, "images"), read_idx(root, "labels")
    if len(images) != len(digit):
        raise ValueError(f"{root} has {len(images)} images but {len(digit)} labels; get both files again.")
    n_test_task = n_test // 10
    rng = np.random.default_rng([seed, round(percent * 1e6)])
    rows: dict[str, list[Array]] = {"train": [], "test": []}
    angles: dict[str, list[Array]] = {"train": [], "test": []}
    for d in range(10):
        of_digit = rng.permutation(np.flatnonzero(digit == d))
        n_train = round(percent / 100 * len(of_digit) * len(ANGLES))
        if not 0 < n_train <= len(of_digit) - n_test_task:
            raise ValueError(
                f"percent={percent} and n_test={n_test} ask for {n_train} training and {n_test_task} test "
                f"images of the {len(of_digit)} of digit {d}; choose numbers that fit."
            )
        for side, part in (("train", of_digit[:n_train]), ("test", of_digit[n_train : n_train + n_test_task])):
            rows[side].append(part)
            angles[side].append(rng.permutation(np.resize(rng.permutation(ANGLES), len(part))))
    image = np.concatenate(rows["train"] + rows["test"])
    angle = np.concatenate(angles["train"] + angles["test"])
    n_train = sum(map(len, rows["train"]))
    problem = Problem(
        name=f"rotated_mnist_{percent:g}",
        X=rotate_images(images[image] / np.float32(255), angle).reshape(len(image), -1),
        y=angle.astype(np.float32),
        task=digit[image].astype(np.int64),
        task_names=tuple(f"digit_{d}" for d in range(10)),
        paths=np.array([f"train/{i:05d}@{a}" for i, a in zip(image, angle, strict=True)]),
        groups=image,
    )
    return problem, Split(np.arange(n_train), np.arange(n_train, len(image)))


def read_idx(root: str | Path, kind: str, part: str = "train") -> Array:
    """Read MNIST's ``<part>-<kind>-idx?-ubyte`` file, gzipped or not; ``kind`` is images or labels."""
    stem = f"{part}-{kind}-idx{3 if kind == 'images' else 1}-ubyte"
    names = (f"{stem}.gz", stem, stem.replace("-idx", ".idx"))
    files = [Path(root) / name for name in names if (Path(root) / name).is_file()]
    if not files:
        raise FileNotFoundError(f"{root} has no {stem} or {stem}.gz; put MNIST's original files there.")
    data = gzip.decompress(files[0].read_bytes()) if files[0].suffix == ".gz" else files[0].read_bytes()
    n_axes = data[3] if len(data) > 3 else 0
    header = np.frombuffer(data, dtype=">i4", count=min(1 + n_axes, len(data) // 4))
    if not len(header) or header[0] != _MAGIC[kind] or len(data) != 4 * len(header) + np.prod(header[1:]):
        raise ValueError(f"{files[0]} is not a complete IDX file of {kind}; get it again.")
    return np.frombuffer(data, dtype=np.uint8, offset=4 * len(header)).reshape(tuple(header[1:]))
