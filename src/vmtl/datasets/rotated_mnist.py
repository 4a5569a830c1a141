"""Rotated MNIST: each digit a task, the rotation angle the target (the paper's regression benchmark)."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from vmtl._utils.types import Array
from vmtl.data.problem import Problem
from vmtl.data.splits import Split
from vmtl.datasets._rotation import ANGLES, rotate_images

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
        The seed of the draw.
    n_test : int, default=10000
        Test images of all tasks together.
    """
    images, digit = read_idx(root, "images"), read_idx(root, "labels")
    if len(images) != len(digit):
        raise ValueError(f"{root} has {len(images)} images but {len(digit)} labels; get both files again.")
    train, test = _draw_rotations(digit, percent, n_test, np.random.default_rng([seed, round(percent * 1e6)]))
    image, angle = np.concatenate([train, test], axis=1)
    problem = Problem(
        name=f"rotated_mnist_{percent:g}",
        X=rotate_images(images[image] / np.float32(255), angle).reshape(len(image), -1),
        y=angle.astype(np.float32),
        task=digit[image].astype(np.int64),
        task_names=tuple(f"digit_{d}" for d in range(10)),
        paths=np.array([f"train/{i:05d}@{a}" for i, a in zip(image, angle, strict=True)]),
        groups=image,
    )
    n_train = train.shape[1]
    return problem, Split(np.arange(n_train), np.arange(n_train, len(image)))


def _draw_rotations(digit: Array, percent: float, n_test: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Image numbers and angles (2, n) for training and for test; every angle as often as the others."""
    n_test_task = n_test // 10
    sides: tuple[list[Array], list[Array]] = ([], [])
    for d in range(10):
        of_digit = rng.permutation(np.flatnonzero(digit == d))
        n_train = round(percent / 100 * len(of_digit) * len(ANGLES))
        if not 0 < n_train <= len(of_digit) - n_test_task:
            raise ValueError(
                f"percent={percent} and n_test={n_test} ask for {n_train} training and {n_test_task} test "
                f"images of the {len(of_digit)} of digit {d}; choose numbers that fit."
            )
        for side, images in zip(sides, np.split(of_digit[: n_train + n_test_task], [n_train]), strict=True):
            angles = rng.permutation(np.resize(rng.permutation(ANGLES), len(images)))
            side.append(np.stack([images, angles]))
    train, test = (np.concatenate(side, axis=1) for side in sides)
    return train, test


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
