"""The default on rows that hardly tell: a sensible model, neither numbers that are none nor even odds without cause."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl._utils.types import Array

RNG = np.random.default_rng(0)
X, TASK = RNG.normal(size=(90, 5)), np.arange(90) % 3
SIGN, RARE = (X[:, 0] > 0).astype(int), (np.arange(90) % 10 == 0).astype(int)


def loss(p: Array, y: Array) -> float:
    """Mean -log p of the labels, which are the numbers of their classes."""
    return float(-np.log(p[np.arange(len(y)), y]).mean())


def base_loss(y: Array) -> float:
    """The same of how often each class is."""
    share = np.bincount(y) / len(y)
    return float(-(share * np.log(np.maximum(share, 1e-300))).sum())


@pytest.mark.parametrize(
    ("x", "y", "task"),
    [
        (X, np.zeros(90, dtype=int), TASK),
        (X, SIGN, np.arange(90)),
        (X[:2], np.arange(2), np.arange(2)),
        (np.ones((90, 5)), RARE, TASK),
        (np.ones((90, 5)), (TASK == 1).astype(int), TASK),
        (np.column_stack([X, np.ones((90, 3))]), SIGN, TASK),
        (X, (np.arange(90) == 3).astype(int), TASK),
        (X, np.where(TASK == 0, SIGN, 0), TASK),
        (X, (X[:, 0] > 1.5).astype(int), TASK),
        (X, RNG.integers(0, 3, 90), TASK),
    ],
    ids=[
        "a single class",
        "one row per task",
        "two rows",
        "identical rows",
        "identical rows, classes by task",
        "constant columns",
        "one row of a class",
        "one class in most tasks",
        "few rows of a class",
        "random labels",
    ],
)
def test_classes_are_predicted_no_worse_than_by_their_shares(x: Array, y: Array, task: Array) -> None:
    model = MultiTaskClassifier(random_state=0).fit(x, y, tasks=task)
    p = model.predict_proba(x, tasks=task)
    assert p.shape == (len(y), y.max() + 1)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(1), 1, rtol=0, atol=1e-9)
    assert loss(p, y) < base_loss(y) + 0.05
    assert np.abs(p.mean(0) - np.bincount(y) / len(y)).max() < 0.1
    assert np.isfinite(model.uncertainty(x, tasks=task)).all(axis=None)


@pytest.mark.parametrize(
    ("x", "y", "task", "least"),
    [
        (X, X[:, 0] + X[:, 1], np.arange(90), 0.9),
        (np.ones((90, 5)), X[:, 0], TASK, -0.01),
        (np.ones((90, 5)), 10.0 * TASK + 0.1 * X[:, 0], TASK, 0.95),
        (np.column_stack([X, np.ones((90, 3))]), X[:, 0], TASK, 0.9),
        (X, np.full(90, 5.0), TASK, 1.0),
        (X, RNG.normal(size=90), TASK, -0.05),
    ],
    ids=["one row per task", "identical rows", "levels by task", "constant columns", "constant", "random numbers"],
)
def test_numbers_are_predicted_no_worse_than_by_their_mean(x: Array, y: Array, task: Array, least: float) -> None:
    model = MultiTaskRegressor(random_state=0).fit(x, y, tasks=task)
    assert np.isfinite(model.uncertainty(x, tasks=task)).all(axis=None)
    assert model.score(x, y, tasks=task) >= least


def classes_of_two_rows(n_classes: int, seed: int = 0) -> tuple[Array, Array]:
    centres = np.random.default_rng(0).normal(size=(n_classes, 20))
    y = np.repeat(np.arange(n_classes), 2)
    return centres[y] + 0.3 * np.random.default_rng(seed).normal(size=(len(y), 20)), y


@pytest.mark.parametrize("task", ["one", "a row of each class", "classes of their own"])
def test_a_hundred_classes_of_two_rows_are_sure_where_they_can_be(task: str) -> None:
    (x, y), (new, _) = classes_of_two_rows(100), classes_of_two_rows(100, 1)
    tasks: dict[str, Any] = {"one": 0 * y, "a row of each class": np.arange(200) % 2, "classes of their own": y % 2}
    model = MultiTaskClassifier(random_state=0).fit(x, y, tasks=tasks[task])
    p = model.predict_proba(new, tasks=tasks[task])
    assert (p.argmax(1) == y).mean() > 0.95
    assert loss(p, y) < 0.3


def test_classes_of_one_row_that_a_task_lacks_are_no_better_than_its_own() -> None:
    """Rows of their class elsewhere say less than the task's own row."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(12, 8))
    y, task = np.tile(np.arange(12), 3), np.repeat(np.arange(3), 12)
    has = (task > 0) | (y > 1)  # the first task lacks two classes
    x, new = (centres[y] + 0.5 * rng.normal(size=(36, 8)) for _ in range(2))
    model = MultiTaskClassifier(random_state=0).fit(x[has], y[has], tasks=task[has])
    own = (task == 0) & has
    p = model.predict_proba(new[own], tasks=task[own])
    assert p[:, :2].sum(1).mean() < 2 / 12 + 0.1
    assert (model.predict(x[own], tasks=task[own]) == y[own]).all()
