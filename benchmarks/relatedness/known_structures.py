"""Sets of tasks whose relations are known: angles, families, kinds of cameras, synthetic groups, one population."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vmtl.datasets import load_digits_domains
from vmtl.datasets._rotation import rotate_images
from vmtl.datasets.rotated_mnist import read_idx
from vmtl.datasets.synthetic import make_task_groups

Array = np.ndarray
#: Test rows of a task that are predicted at most.
TEST_ROWS = 300


@dataclass(frozen=True)
class Tasks:
    """Training and test rows of tasks, and which pairs belong together."""

    x: Array  # (n, D)
    y: Array  # (n,)
    task: Array  # (n,)
    train: Array  # (n,) whether a row is for training
    related: Array  # (T, T) neighbours or members of one group
    adversary: int | None = None  # a task with the labels of its group turned round


def tilted_digits(seed: int, rows: int, data: Path) -> Tasks:
    """The embedded digits at 0, 20, 40 and 60 degrees: neighbours in angle are related."""
    digits, rng = load_digits_domains(), np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(np.flatnonzero(digits.task == t)) for t in range(digits.n_tasks)])
    task = digits.task[order]
    return Tasks(digits.X[order], digits.y[order], task, _first(task, rows), _chain(digits.n_tasks))


def mnist_angles(seed: int, rows: int, data: Path) -> Tasks:
    """MNIST at 0, 15, ..., 75 degrees."""
    images, y, task = _deal(seed, 6, rows, data)
    return Tasks(_small(rotate_images(images, 15 * task)), y, task, _first(task, rows), _chain(6))


def mnist_families(seed: int, rows: int, data: Path) -> Tasks:
    """MNIST plain, inverted and mirrored, three tasks each."""
    images, y, task = _deal(seed, 9, rows, data)
    images = np.where((task // 3 == 1)[:, None, None], 1 - images, images)
    images = np.where((task // 3 == 2)[:, None, None], images[:, :, ::-1], images)
    return Tasks(_small(images), y, task, _first(task, rows), _groups(np.arange(9) // 3))


def one_population(seed: int, rows: int, data: Path) -> Tasks:
    """MNIST dealt to six tasks at random: nobody is related more than others."""
    images, y, task = _deal(seed, 6, rows, data)
    return Tasks(_small(images), y, task, _first(task, rows), np.zeros((6, 6), dtype=bool))


def office_caltech(seed: int, percent: int, data: Path) -> Tasks:
    """A random part of Office-Caltech: two web collections, two cameras in one office."""
    with np.load(data / "office_caltech_effnetlite0.npz") as file:
        x, y, task, names = file["X"].astype(np.float32), file["y"], file["domain"], list(file["domains"])
    order = np.random.default_rng(seed).permutation(len(y))
    order = order[np.argsort(task[order], kind="stable")]
    x, y, task = x[order], y[order].astype(np.int64), task[order].astype(np.int64)
    kind = np.array([str(name)[0] in "ac" for name in names])
    train = _first(task, np.round(percent / 100 * np.bincount(task)).astype(int)[task])
    return Tasks(x, y, task, train, _groups(kind.astype(int)))


def synthetic_groups(seed: int, rows: int, data: Path) -> Tasks:
    """Two groups of five tasks, one task apart, one with the labels of the first group turned round."""
    drawn = make_task_groups(seed)
    problem, group = drawn.problem, drawn.group
    train = np.zeros(problem.n_rows, dtype=bool)
    train[drawn.split.train] = True
    apart = np.where(group >= 0, group, 10 + np.arange(len(group)))
    return Tasks(problem.X, problem.y, problem.task, train, _groups(apart), int(np.flatnonzero(group == -2)[0]))


def two_rules(seed: int, rows: int, data: Path) -> Tasks:
    """Ten tasks whose rows come from one place and whose two classes follow one of two rules: only labels tell."""
    return _rules(seed, rows, np.arange(10) % 2)


def one_rule(seed: int, rows: int, data: Path) -> Tasks:
    """The same with one rule for all."""
    return _rules(seed, rows, np.zeros(10, dtype=int))


def flipped_labels(seed: int, rows: int, n_tasks: int) -> Tasks:
    """Tasks of one rule and in one place, the last of which has its labels turned round."""
    rule = np.zeros(n_tasks, dtype=int)
    tasks = _rules(seed, rows, rule)
    last = tasks.task == n_tasks - 1
    others = _groups(np.where(np.arange(n_tasks) < n_tasks - 1, 0, 1))
    return replace(tasks, y=np.where(last, 1 - tasks.y, tasks.y), related=others, adversary=n_tasks - 1)


def _rules(seed: int, rows: int, rule: Array) -> Tasks:
    """Logistic labels on six columns; the weights of a task are those of its rule, and a little its own."""
    rng, columns = np.random.default_rng(seed), 6
    weights = rng.normal(size=(2, columns))[rule] + 0.2 * rng.normal(size=(len(rule), columns))
    task = np.repeat(np.arange(len(rule)), rows + TEST_ROWS)
    x = rng.normal(size=(len(task), columns))
    y = rng.random(len(task)) < 1 / (1 + np.exp(-1.5 * (x * weights[task]).sum(1)))
    related = _groups(rule) if rule.any() else np.zeros((len(rule), len(rule)), dtype=bool)
    return Tasks(x, y.astype(np.int64), task, _first(task, rows), related)


def _deal(seed: int, n_tasks: int, rows: int, data: Path) -> tuple[Array, Array, Array]:
    """Different images of MNIST for every task: (n, 28, 28) in [0, 1], their digits and tasks."""
    images, digits = read_idx(data / "mnist", "images"), read_idx(data / "mnist", "labels")
    chosen = np.random.default_rng(seed).permutation(len(images))[: n_tasks * (rows + TEST_ROWS)]
    task = np.repeat(np.arange(n_tasks), rows + TEST_ROWS)
    return images[chosen] / np.float32(255), digits[chosen].astype(np.int64), task


def _small(images: Array) -> Array:
    """(n, 28, 28) to (n, 196), the mean of every four pixels."""
    return images.reshape(-1, 14, 2, 14, 2).mean((2, 4)).reshape(len(images), -1)


def _first(task: Array, rows: int | Array) -> Array:
    """The first so many rows of every task, of rows sorted by task."""
    start = np.searchsorted(task, np.arange(task.max() + 1))
    return np.arange(len(task)) - start[task] < rows


def _chain(n_tasks: int) -> Array:
    place = np.arange(n_tasks)
    return np.abs(place[:, None] - place) == 1


def _groups(group: Array) -> Array:
    return (group[:, None] == group) & ~np.eye(len(group), dtype=bool)
