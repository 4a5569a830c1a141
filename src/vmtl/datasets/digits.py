"""Embedded problems made of scikit-learn's bundled 8 x 8 digits: no download."""

from __future__ import annotations

import numpy as np

from vmtl._utils.types import Array
from vmtl.data.problem import Problem
from vmtl.datasets._rotation import ANGLES, rotate_images

TILTS = (0, 20, 40, 60)


def load_digits_domains(seed: int = 0) -> Problem:
    """Ten digits under four acquisitions: scanned at 0, 20, 40 or 60 degrees clockwise, each image once.

    1,797 images, 64 features in [0, 1]. At 5 % training rows the tilts differ too much for one pooled linear
    model and share too much for four separate ones: a model with a shared and a private part beats both.

    Parameters
    ----------
    seed : int, default=0
        How the images are dealt to the tilts.
    """
    images, digit = _bundled_digits()
    tilt = _deal(digit, len(TILTS), np.random.default_rng(seed))
    return Problem(
        name="digits_domains",
        X=rotate_images(images, -np.asarray(TILTS)[tilt]).reshape(len(digit), -1),
        y=digit,
        task=tilt,
        task_names=tuple(f"tilt_{angle}" for angle in TILTS),
        class_names=tuple(str(c) for c in range(10)),
        paths=np.array([f"digits/{row:04d}" for row in range(len(digit))]),
    )


def load_digits_questions(seed: int = 0) -> Problem:
    """Two questions about digits, each asked of three scanners: six tasks, of which three follow each rule.

    Is the digit odd? Is it five or more? Images were scanned at 0, 20 or 40 degrees clockwise, each image once, and
    every image is asked one question. Rows of two questions contradict each other; rows of one question at two tilts
    do not.

    Parameters
    ----------
    seed : int, default=0
        How the images are dealt to the tasks.
    """
    images, digit = _bundled_digits()
    tilts, questions = TILTS[:3], ("odd", "large")
    task = _deal(digit, len(tilts) * len(questions), np.random.default_rng(seed))
    tilt, question = task // 2, task % 2
    return Problem(
        name="digits_questions",
        X=rotate_images(images, -np.asarray(tilts)[tilt]).reshape(len(digit), -1),
        y=np.where(question == 0, digit % 2, digit >= 5).astype(np.int64),
        task=task,
        task_names=tuple(f"{name}_{angle}" for angle in tilts for name in questions),
        class_names=("no", "yes"),
        paths=np.array([f"digits/{row:04d}" for row in range(len(digit))]),
    )


def load_rotated_digits(seed: int = 0, all_angles: bool = False) -> Problem:
    """Rotated MNIST's protocol on the bundled digits: each digit a task, the angle in degrees the target.

    Every image is rotated once, by one of 0, 10, ..., 90 degrees, so no rotation of a training image can be
    in the test set. ``all_angles`` gives all ten rotations of every image; ``groups`` keeps them on one side.

    Parameters
    ----------
    seed : int, default=0
        How the images are dealt to the angles.
    all_angles : bool, default=False
        All ten rotations of every image.
    """
    images, digit = _bundled_digits()
    image = np.arange(len(digit))
    if all_angles:
        image, which = np.repeat(image, len(ANGLES)), np.tile(np.arange(len(ANGLES)), len(image))
    else:
        which = _deal(digit, len(ANGLES), np.random.default_rng(seed))
    angle = np.asarray(ANGLES)[which]
    return Problem(
        name="rotated_digits",
        X=rotate_images(images[image], angle).reshape(len(image), -1),
        y=angle.astype(np.float32),
        task=digit[image],
        task_names=tuple(f"digit_{d}" for d in range(10)),
        paths=np.array([f"digits/{i:04d}@{a}" for i, a in zip(image, angle, strict=True)]),
        groups=image,
    )


def _bundled_digits() -> tuple[Array, Array]:
    from sklearn.datasets import load_digits

    bundle = load_digits()
    return (bundle.images / 16).astype(np.float32), bundle.target.astype(np.int64)


def _deal(digit: Array, n_hands: int, rng: np.random.Generator) -> Array:
    """(n,) a hand for every image, such that every digit is spread evenly."""
    hand = np.empty(len(digit), dtype=np.int64)
    for d in range(10):
        rows = rng.permutation(np.flatnonzero(digit == d))
        hand[rows] = (np.arange(len(rows)) + rng.integers(n_hands)) % n_hands
    return hand
