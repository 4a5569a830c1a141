"""Tasks that were not in training: as the average of all, or by those whose representations theirs resemble."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest

from helpers.three_tasks import REAL, TASK, UNIT
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl.estimators.inputs import feature_table
from vmtl.evaluation import column_importance


def two_groups(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Six tasks of 25 rows: in three of them all columns are larger, and the label has the other sign."""
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(6), 25)
    x = rng.normal(size=(150, 4)) + 1.5 * (task >= 3)[:, None]
    sign = np.where(task >= 3, -1, 1)
    return x, np.where(sign * (x[:, 0] - x[:, 1]) > 0, "yes", "no"), task


@pytest.fixture(scope="module")
def similar() -> MultiTaskClassifier:
    x, y, task = two_groups(0)
    return MultiTaskClassifier(unknown_task="similar", random_state=0).fit(x, y, tasks=task)


@pytest.mark.parametrize("group", [0, 1])
def test_an_unlabelled_task_is_predicted_by_its_group(similar: MultiTaskClassifier, group: int) -> None:
    gains = []
    for seed in range(1, 6):
        x, y, task = two_groups(seed)
        own = task == 3 * group
        names = np.full(int(own.sum()), "new")
        weights = similar.unknown_task_weights(x[own], tasks=names)
        assert weights.index.tolist() == ["new"]
        assert weights.loc["new", [0, 1, 2] if group == 0 else [3, 4, 5]].sum() > 0.7  # even weights have a half
        average = copy(similar).set_params(unknown_task="average")
        gains.append(similar.score(x[own], y[own], tasks=names) - average.score(x[own], y[own], tasks=names))
    assert np.mean(gains) > 0.03


def test_every_unknown_task_has_weights_of_its_own(similar: MultiTaskClassifier) -> None:
    x, _, task = two_groups(1)
    rows = np.isin(task, [0, 4])
    names = np.where(task[rows] == 0, "plain", "other")
    together = similar.predict_proba(x[rows], tasks=names)
    for name in ("plain", "other"):
        alone = similar.predict_proba(x[rows][names == name], tasks=names[names == name])
        np.testing.assert_allclose(together[names == name], alone, atol=1e-6)


def test_it_depends_on_the_rows_of_the_call_and_not_on_how_they_are_cut(
    similar: MultiTaskClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, _, task = two_groups(2)
    rows, names = np.tile(x[task == 0], (60, 1)), np.full(60 * 25, "new")  # more than one part of 1024 rows
    whole = similar.predict_proba(rows, tasks=names)
    monkeypatch.setattr(feature_table, "PART_CELLS", 4)
    np.testing.assert_array_equal(similar.predict_proba(rows, tasks=names), whole)
    few = similar.unknown_task_weights(x[task == 0][:1], tasks=["new"])
    many = similar.unknown_task_weights(x[task == 0], tasks=["new"] * 25)
    assert np.abs(few.to_numpy() - many.to_numpy()).max() > 0.01


def test_known_tasks_are_predicted_as_ever(similar: MultiTaskClassifier) -> None:
    x, _, task = two_groups(3)
    mixed = similar.predict_proba(x, tasks=np.where(task == 5, 99, task))
    strict = copy(similar).set_params(unknown_task="error")
    np.testing.assert_allclose(mixed[task != 5], strict.predict_proba(x, tasks=task)[task != 5], atol=1e-4)


def test_guarantees_importance_and_features_take_it(similar: MultiTaskClassifier) -> None:
    x, y, _ = two_groups(4)
    names = np.full(len(x), "new")
    assert similar.predict_set(x, tasks=names).shape == (150, 2)
    assert similar.transform(x, tasks=names).shape[0] == 150
    assert column_importance(similar, x, y, names, repeats=1).tasks == ("(unknown)",)


def test_weights_are_even_as_the_average_and_unknown_tasks_an_error_else() -> None:
    model = MultiTaskRegressor(unknown_task="average", random_state=0).fit(REAL.X, UNIT, tasks=TASK)
    weights = model.unknown_task_weights(REAL.X[:3], tasks=["east", "north", "east"])
    assert weights.index.tolist() == ["east"]
    np.testing.assert_allclose(weights, 1 / 3)
    with pytest.raises(ValueError, match=r"Unknown task 'nrth' .did you mean 'north'"):
        model.set_params(unknown_task="error").unknown_task_weights(REAL.X[:1], tasks=["nrth"])
    model.set_params(unknown_task="similar")
    mean, std = model.predict(REAL.X[:3], tasks=["east"] * 3, return_std=True)
    assert np.isfinite([mean, std]).all()
