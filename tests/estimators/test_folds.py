"""Fits without a fold: who is left out when, and how strange the targets of left-out rows are to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from helpers.report_models import Case
from helpers.three_tasks import REAL, TASK, UNIT
from vmtl import VMTLClassifier, VMTLRegressor
from vmtl.estimators.folds import check_folds, fold_numbers, scores_by_folds


def test_every_task_is_spread_over_the_folds() -> None:
    codes = np.repeat([0, 1, 2], [5, 1, 8])
    numbers = fold_numbers(codes, 4, 0)
    assert np.bincount(numbers).tolist() == [4, 4, 3, 3]
    assert sorted(np.unique(numbers[codes == 0], return_counts=True)[1].tolist()) == [1, 1, 1, 2]
    assert not np.array_equal(numbers, fold_numbers(codes, 4, 1))  # at random, by the seed
    np.testing.assert_array_equal(numbers, fold_numbers(codes, 4, 0))


def test_a_score_is_that_of_a_fit_without_the_row() -> None:
    """Fold by fold, by hand: how many predictive deviations each target is from its prediction."""
    weight = np.where(np.arange(len(UNIT)) % 5, 1.0, 3.0)
    numbers = fold_numbers(REAL.task, 3, 0)
    model: Any = VMTLRegressor("bmtl", encoder="linear", max_steps=5, latent_dim=4, random_state=0)
    model.fit(REAL.X, UNIT, tasks=TASK, sample_weight=weight)
    found = scores_by_folds(model, REAL.X, UNIT, TASK.astype(object), weight, numbers)
    for fold in range(3):
        rest, out = numbers != fold, numbers == fold
        other = clone(model).set_params(random_state=model.seed_)
        other.fit(REAL.X[rest], UNIT[rest], tasks=TASK[rest], sample_weight=weight[rest])
        mean, std = other.predict(REAL.X[out], tasks=TASK[out], return_std=True)
        np.testing.assert_allclose(found[out], np.abs(UNIT[out] - mean) / std, rtol=1e-5)


def test_a_class_that_a_fold_never_saw_is_as_strange_as_can_be(class_case: Case) -> None:
    y = class_case.train.y.astype(object).copy()
    y[0] = "once"
    model = VMTLClassifier("bmtl", encoder="linear", max_steps=5, random_state=0)
    model.fit(class_case.train.X, y, tasks=class_case.train.tasks)
    model.cross_calibrate(class_case.train.X, y, tasks=class_case.train.tasks, folds=2)
    scores = model._fitted.left_out
    assert scores is not None
    assert float(scores.score[0]) == float(scores.score.max()) == 1.0


@pytest.mark.parametrize("folds", [0, 1, 2.5, 31, "many"])
def test_a_number_of_folds_that_cannot_be_is_refused(folds: Any) -> None:
    with pytest.raises(ValueError, match=f"^folds is {folds!r}; give a number from 2 to 30, the number of rows"):
        check_folds(folds, 30)


@pytest.mark.parametrize("folds", [2, 30, np.int64(5)])
def test_other_numbers_are_taken(folds: Any) -> None:
    check_folds(folds, 30)
