"""Thousands of tasks, and thousands of rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import vmtl
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl._utils.types import Array

RNG = np.random.default_rng(0)
#: 1,200 tasks of five rows with a common rule, and levels of their own.
MANY_TASKS = np.repeat(np.arange(1200), 5)
MANY_X = RNG.normal(size=(6000, 4))
MANY_Y = MANY_X[:, 0] - MANY_X[:, 1] + 0.5 * RNG.normal(size=1200)[MANY_TASKS] + 0.5 * RNG.normal(size=6000)


@pytest.fixture(scope="module", params=[MultiTaskClassifier, MultiTaskRegressor])
def crowd(
    request: pytest.FixtureRequest,
) -> tuple[MultiTaskClassifier | MultiTaskRegressor, Array]:
    """A model of 1,200 tasks, and its targets."""
    y = (MANY_Y > 0).astype(int) if request.param is MultiTaskClassifier else MANY_Y
    return request.param(random_state=0).fit(MANY_X, y, tasks=MANY_TASKS), y


def test_a_thousand_tasks_have_teachers_instead_of_a_table(
    crowd: tuple[MultiTaskClassifier | MultiTaskRegressor, Array], tmp_path: Path
) -> None:
    model, y = crowd
    for name in ("alpha_", "beta_", "alpha_interval_", "sharing_interval_"):
        with pytest.raises(AttributeError, match=rf"^1,200 tasks have no {name}, .* teachers\(task\)"):
            getattr(model, name)
    assert model.sharing_.between(0, 1).all()
    everybody = model.teachers(7, 2000)
    assert len(everybody) == 1199
    assert 7 not in everybody.index
    assert everybody.sum() == pytest.approx(1)
    assert everybody.is_monotonic_decreasing
    pd.testing.assert_series_equal(model.teachers(7, 3), everybody.head(3))
    with pytest.raises(ValueError, match=r"^No task 'x' was fitted; tasks_ lists those that were"):
        model.teachers("x")
    assert model.score(MANY_X, y, tasks=MANY_TASKS) > (0.8 if isinstance(model, MultiTaskClassifier) else 0.7)
    model.save(tmp_path / "model.vmtl")
    again = vmtl.load(tmp_path / "model.vmtl")
    loaded, expected = (m.uncertainty(MANY_X[:50], tasks=MANY_TASKS[:50]) for m in (again, model))
    pd.testing.assert_frame_equal(loaded, expected, check_exact=True)
    pd.testing.assert_series_equal(again.teachers(7), model.teachers(7))


def test_few_tasks_have_teachers_too() -> None:
    few = MANY_TASKS < 30
    model = MultiTaskRegressor(random_state=0).fit(MANY_X[few], MANY_Y[few], tasks=MANY_TASKS[few])
    expected = model.alpha_.loc[4].drop(4).sort_values(ascending=False, kind="stable").head(5)
    pd.testing.assert_series_equal(model.teachers(4, 5), expected, check_names=False)


def grouped(n_tasks: int, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """Five groups with weights of their own, each moved; 20 rows a task, and which ten of them are for training."""
    rng = np.random.default_rng(seed)
    group, task = rng.integers(0, 5, n_tasks), np.repeat(np.arange(n_tasks), 20)
    weights = rng.normal(size=(5, 10))[group] + 0.3 * rng.normal(size=(n_tasks, 10))
    x = rng.normal(size=(len(task), 10))
    y = (x * weights[task]).sum(1) + 1.5 * rng.normal(size=len(task)) > 0
    return x + 0.7 * rng.normal(size=(5, 10))[group][task], y.astype(int), task, np.arange(len(task)) % 20 < 10


@pytest.mark.slow
@pytest.mark.parametrize("n_tasks", [600, 1500, 3000])
def test_tasks_in_groups_are_predicted_better_than_by_even_weights(n_tasks: int) -> None:
    x, y, task, train = grouped(n_tasks)

    def loss(relatedness: str) -> float:
        model = MultiTaskClassifier(relatedness, random_state=0).fit(x[train], y[train], tasks=task[train])
        p = model.predict_proba(x[~train], tasks=task[~train])
        return float(-np.log(p[np.arange(len(p)), y[~train]]).mean())

    assert loss("learned") < 0.95 * loss("even")
