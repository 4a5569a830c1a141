"""Tasks in one place that follow two rules: who learns from whom is told by targets alone."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl._utils.types import Array

Estimator = MultiTaskClassifier | MultiTaskRegressor
RULES = np.array([[1.0, -1.0, 0.5, 0.0], [-0.3, 0.4, 1.5, 0.0]])
#: Two groups of five tasks, in turn; the same with one rule for all.
GROUP, NOBODY = np.arange(10) % 2, np.zeros(10, dtype=int)


@dataclass(frozen=True)
class Case:
    """A kind of targets, and a model of two groups."""

    kind: type[Estimator]
    model: Estimator

    def rows(self, group: Array, rows_each: int, seed: int) -> tuple[Array, Array, Array]:
        return rows_of(self.kind, group, rows_each, seed)


def rows_of(kind: type[Estimator], group: Array, rows_each: int, seed: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(len(group)), rows_each)
    x = rng.normal(size=(len(task), 4))
    y = (x * RULES[group][task]).sum(1) + 0.3 * rng.normal(size=len(task))
    return x, (y > 0).astype(int) if kind is MultiTaskClassifier else y, task


def fitted(kind: type[Estimator], group: Array, rows_each: int, **options: str) -> Estimator:
    x, y, task = rows_of(kind, group, rows_each, 0)
    return kind(random_state=0, **options).fit(x, y, tasks=task)


@pytest.fixture(scope="module", params=[MultiTaskClassifier, MultiTaskRegressor], ids=["classes", "numbers"])
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param, fitted(request.param, GROUP, 12))


def predictions(model: Estimator, x: Array, task: Array) -> list[Array]:
    ask = model.predict_proba if isinstance(model, MultiTaskClassifier) else model.predict
    return [ask(x, tasks=task), model.uncertainty(x, tasks=task).to_numpy()]


def test_tasks_learn_from_those_of_their_group(case: Case) -> None:
    alpha = case.model.alpha_.to_numpy()
    assert (alpha * (GROUP[:, None] == GROUP)).sum(1).min() > 0.8


def test_that_predicts_better_than_learning_from_everybody(case: Case) -> None:
    x, y, task = case.rows(GROUP, 60, seed=1)
    everybody = fitted(case.kind, GROUP, 12, mixing="mean")
    assert case.model.score(x, y, tasks=task) > everybody.score(x, y, tasks=task)


def test_tasks_of_one_rule_learn_from_everybody(case: Case) -> None:
    alpha = fitted(case.kind, NOBODY, 20).alpha_.to_numpy()
    others = alpha[~np.eye(10, dtype=bool)]
    assert np.abs(others - 1 / 9).max() < 0.03


def test_groups_are_told(case: Case) -> None:
    groups = case.model.groups_
    assert list(groups.index) == list(case.model.tasks_)
    assert groups["group"].tolist() == GROUP.tolist()  # numbered as they come
    assert groups["probability"].between(0.9, 1).all()
    one = fitted(case.kind, NOBODY, 20).groups_
    assert not one["group"].any()
    assert one["probability"].between(0.8, 1).all()


def test_fits_without_groups_say_what_has_some(case: Case) -> None:
    for options in ({"mixing": "mean"}, {"method": "stl"}):
        model = fitted(case.kind, GROUP, 6, **options)
        with pytest.raises(
            AttributeError, match=r"no groups of its tasks; fit three tasks or more with method='vmtl' "
        ):
            model.groups_  # noqa: B018


def test_groups_come_back_from_a_file(case: Case, tmp_path: Path) -> None:
    case.model.save(tmp_path / "model.vmtl")
    again = case.kind.load(tmp_path / "model.vmtl")
    pd.testing.assert_frame_equal(again.alpha_, case.model.alpha_, check_exact=True)
    pd.testing.assert_frame_equal(again.groups_, case.model.groups_, check_exact=True)
    x, y, _ = case.rows(np.array([1]), 12, seed=2)
    one, other = (copy.deepcopy(model).add_task(x, y, task="new") for model in (case.model, again))
    pd.testing.assert_frame_equal(one.alpha_, other.alpha_, check_exact=True)


@pytest.mark.parametrize("group", [0, 1])
def test_a_task_is_added_to_tasks_in_groups(group: int, case: Case) -> None:
    x, _, task = case.rows(GROUP, 6, seed=3)
    new_x, new_y, zero = case.rows(np.array([group]), 40, seed=4)
    longer = copy.deepcopy(case.model).add_task(new_x[:12], new_y[:12], task=10)
    for before, after in zip(*(predictions(model, x, task) for model in (case.model, longer)), strict=True):
        assert np.array_equal(before, after)
    assert all(np.isfinite(value).all() for value in predictions(longer, new_x[12:], zero[12:] + 10))
    assert longer.alpha_.shape == (11, 11)
    assert longer.alpha_.loc[10, np.flatnonzero(group == GROUP)].sum() > 0.6
    assert longer.groups_.loc[10, "group"] == group
    twice = longer.add_task(new_x[12:24], new_y[12:24], task=11)
    assert all(np.isfinite(value).all() for value in predictions(twice, new_x[24:], zero[24:] + 11))


@pytest.mark.parametrize("n_classes", [0, 2, 3], ids=["numbers", "two classes", "three classes"])
def test_a_task_with_flipped_targets_hurts_nobody(n_classes: int) -> None:
    """Beside two others it is no majority, nor does it make them strangers: they predict as without it."""
    losses = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        task = np.repeat(np.arange(3), 125)
        x = rng.normal(size=(len(task), 4))
        rule = rng.normal(size=4)
        y = x @ (1.5 * rule / np.linalg.norm(rule)) * np.where(task == 2, -1, 1) + 0.5 * rng.normal(size=len(task))
        if n_classes:
            y = np.digitize(y, [0.0] if n_classes == 2 else [-0.5, 0.5])
        train = np.arange(len(task)) % 125 < 25
        test = ~train & (task < 2)
        losses.append([_loss(x, y, task, rows, test) for rows in (train, train & (task < 2))])
    beside, without = np.mean(losses, axis=0)
    assert beside < 1.02 * without


@pytest.mark.parametrize("kind", [MultiTaskClassifier, MultiTaskRegressor], ids=["classes", "numbers"])
def test_a_task_with_flipped_targets_may_come_later(kind: type[Estimator]) -> None:
    """Nobody stood apart when it came, and still it need not follow."""
    losses = []
    for seed in range(2):
        x, y, task = rows_of(kind, NOBODY[:5], 60, seed)
        y = np.where(task == 4, 1 - y if kind is MultiTaskClassifier else -y, y)
        train = np.arange(len(task)) % 60 < 20
        later, test = task == 4, ~train & (task == 4)
        first = train & ~later
        added = kind(random_state=0).fit(x[first], y[first], tasks=task[first])
        added.add_task(x[train & later], y[train & later], task=4)
        whole = kind(random_state=0).fit(x[train], y[train], tasks=task[train])
        losses.append([_loss_of(model, x[test], y[test], task[test]) for model in (added, whole)])
    added_loss, whole_loss = np.mean(losses, axis=0)
    assert added_loss < 1.6 * whole_loss


def _loss(x: Array, y: Array, task: Array, train: Array, test: Array) -> float:
    kind = MultiTaskRegressor if y.dtype.kind == "f" else MultiTaskClassifier
    model = kind(random_state=0).fit(x[train], y[train], tasks=task[train])
    return _loss_of(model, x[test], y[test], task[test])


def _loss_of(model: Estimator, x: Array, y: Array, task: Array) -> float:
    """RMSE of numbers, NLL of classes."""
    if isinstance(model, MultiTaskRegressor):
        return float(np.sqrt(np.mean((model.predict(x, tasks=task) - y) ** 2)))
    p = model.predict_proba(x, tasks=task)
    return float(-np.log(p[np.arange(len(p)), y]).mean())
