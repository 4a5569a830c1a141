"""Problems that only benchmarks use: MNIST as domains, and the synthetic groups with or without their adversary."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from vmtl.data.problem import Problem
from vmtl.data.splits import Split
from vmtl.datasets._rotation import rotate_images
from vmtl.datasets.digits import TILTS
from vmtl.datasets.rotated_mnist import read_idx
from vmtl.datasets.synthetic import ADVERSARIAL, make_task_groups

N_IMAGES = 8000


def load_mnist_domains(root: str | Path) -> Problem:
    """8,000 MNIST training images, each once, in four domains: at 0, 20, 40 or 60 degrees clockwise."""
    digit = read_idx(root, "labels")
    rng = np.random.default_rng(0)
    chosen = np.sort(rng.choice(len(digit), N_IMAGES, replace=False))
    tilt = rng.permutation(np.arange(N_IMAGES) % len(TILTS))
    images = read_idx(root, "images")[chosen] / np.float32(255)
    return Problem(
        name="mnist_domains",
        X=rotate_images(images, -np.asarray(TILTS)[tilt]).reshape(N_IMAGES, -1),
        y=digit[chosen].astype(np.int64),
        task=tilt,
        task_names=tuple(f"tilt_{angle}" for angle in TILTS),
        class_names=tuple(str(c) for c in range(10)),
        paths=np.array([f"train/{i:05d}" for i in chosen]),
    )


def draw_task_groups(root: Path, percent: float, seed: int, *, with_adversary: bool = True) -> tuple[Problem, Split]:
    """Draw ``seed`` of the synthetic groups; without its adversary all other rows stay exactly the same."""
    drawn = make_task_groups(seed)
    if with_adversary:
        return drawn.problem, drawn.split
    kept = np.flatnonzero(drawn.group[drawn.problem.task] != ADVERSARIAL)
    names = tuple(n for n, g in zip(drawn.problem.task_names, drawn.group, strict=True) if g != ADVERSARIAL)
    number = np.cumsum(drawn.group != ADVERSARIAL) - 1
    part = drawn.problem.subset(kept)
    problem = replace(part, task=number[part.task], task_names=names)
    train = np.isin(kept, drawn.split.train)
    return problem, Split(np.flatnonzero(train), np.flatnonzero(~train))
