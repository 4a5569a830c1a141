"""Tasks with known relations: groups that help each other, one task apart, one against a group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vmtl._utils.types import Array
from vmtl.data.problem import Problem
from vmtl.data.splits import Split

UNRELATED, ADVERSARIAL = -1, -2


@dataclass(frozen=True, eq=False)
class SyntheticTasks:
    """A problem, its split and the truth.

    group : (T,) group of each task; -1 unrelated, -2 adversarial.
    weights : (T, C, D) what makes the labels, flipped for the adversarial task.
    """

    problem: Problem
    split: Split
    group: Array
    weights: Array


def make_task_groups(
    seed: int = 0,
    *,
    n_groups: int = 2,
    tasks_per_group: int = 5,
    unrelated: int = 1,
    adversarial: int = 1,
    n_features: int = 20,
    n_classes: int = 4,
    n_rows: tuple[int, int] = (8, 40),
    n_test: int = 200,
    correlation: float = 0.9,
    label_noise: float = 0.05,
) -> SyntheticTasks:
    """Draw y = argmax_c (w_tc . x), x ~ N(0, I), and exchange some of the training labels.

    w_t = sqrt(rho) g + sqrt(1 - rho) e_t with g of the group and e_t of the task alone, both N(0, I): weights correlate
    at rho within a group. An adversarial task has weights of the first group and its labels flipped, c to C - 1 - c.

    Parameters
    ----------
    seed : int, default=0
        The seed of the draw.
    n_groups, tasks_per_group : int, default=2, 5
        Groups of related tasks, and the tasks of each.
    unrelated, adversarial : int, default=1, 1
        Tasks that have nothing to do with any other, and tasks whose labels are flipped.
    n_features, n_classes : int, default=20, 4
        D, the columns of X, and C.
    n_rows, n_test : pair of int, int, default=(8, 40), 200
        Least and most training rows of a task; its test rows, without label noise.
    correlation, label_noise : float in [0, 1], default=0.9, 0.05
        rho, how alike the weights of a group are; the share of training labels that are exchanged, below 1.
    """
    if not 0 <= correlation <= 1 or not 0 <= label_noise < 1:
        raise ValueError("Choose a correlation from 0 to 1 and a label_noise from 0 to below 1.")
    rng = np.random.default_rng(seed)
    group = _group_of_tasks(n_groups, tasks_per_group, unrelated, adversarial)
    weights = _weights(group, n_groups, (n_classes, n_features), correlation, rng)
    return _gather([_draw_task(w, n_rows, n_test, label_noise, rng) for w in weights], group, weights)


def _group_of_tasks(n_groups: int, tasks_per_group: int, unrelated: int, adversarial: int) -> Array:
    """(T,) the group of each task, groups first."""
    counts = [*[tasks_per_group] * n_groups, unrelated, adversarial]
    return np.repeat([*range(n_groups), UNRELATED, ADVERSARIAL], counts)


def _gather(parts: list[tuple[Array, Array, int]], group: Array, weights: Array) -> SyntheticTasks:
    """The drawn tasks as one problem with its split."""
    problem = Problem(
        name="task_groups",
        X=np.concatenate([X for X, *_ in parts]).astype(np.float32),
        y=np.concatenate([y for _, y, _ in parts]),
        task=np.repeat(np.arange(len(parts)), [len(y) for _, y, _ in parts]),
        task_names=_task_names(group),
        class_names=tuple(f"class_{c}" for c in range(weights.shape[1])),
    )
    train = np.concatenate([np.arange(len(y)) < n_train for _, y, n_train in parts])
    return SyntheticTasks(problem, Split(np.flatnonzero(train), np.flatnonzero(~train)), group, weights)


def _draw_task(
    w: Array, n_rows: tuple[int, int], n_test: int, label_noise: float, rng: np.random.Generator
) -> tuple[Array, Array, int]:
    """X and y of one task with weights w (C, D), and how many of its first rows are for training."""
    n_train = int(rng.integers(n_rows[0], n_rows[1] + 1))
    X = rng.standard_normal((n_train + n_test, w.shape[1]))
    y = (X @ w.T).argmax(axis=1)
    noisy = np.flatnonzero(rng.random(n_train) < label_noise)
    y[noisy] = (y[noisy] + rng.integers(1, len(w), len(noisy))) % len(w)
    return X, y, n_train


def _weights(
    group: Array, n_groups: int, shape: tuple[int, int], correlation: float, rng: np.random.Generator
) -> Array:
    """(T, C, D) the weights that make the labels."""
    centre = rng.standard_normal((n_groups, *shape))
    weights = rng.standard_normal((len(group), *shape))
    for t, g in enumerate(group):
        if g != UNRELATED:
            weights[t] *= np.sqrt(1 - correlation)
            weights[t] += np.sqrt(correlation) * centre[max(g, 0)]
        if g == ADVERSARIAL:
            weights[t] = weights[t][::-1]
    return weights


def _task_names(group: Array) -> tuple[str, ...]:
    prefix = {UNRELATED: "unrelated", ADVERSARIAL: "adversarial"}
    seen: dict[str, int] = {}
    names = []
    for g in group:
        kind = prefix.get(int(g), f"group{g}")
        seen[kind] = seen.get(kind, 0) + 1
        names.append(f"{kind}_{seen[kind]}")
    return tuple(names)
