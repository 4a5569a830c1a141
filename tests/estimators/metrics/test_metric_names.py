"""Metrics by the names that users type: each at its best value for a perfect prediction."""

from __future__ import annotations

import numpy as np
import pytest

from vmtl.estimators.metrics.class_metrics import accuracy
from vmtl.estimators.metrics.metric_names import CLASS_METRICS, REAL_METRICS, metric_named

BEST_OF_CLASSES = {"accuracy": 1, "balanced_accuracy": 1, "auc": 1, "f1": 1, "brier": 0, "nll": 0, "ece": 0}
BEST_OF_NUMBERS = {"r2": 1, "mae": 0, "rmse": 0, "nmse": 0, "nll": 0.5 * np.log(2 * np.pi), "coverage": 1}


def test_a_perfect_prediction_has_the_best_score_of_every_name() -> None:
    y = np.array([0, 1, 2, 1])
    assert {name: metric(y, np.eye(3)[y]) for name, metric in CLASS_METRICS.items()} == pytest.approx(BEST_OF_CLASSES)
    targets = np.array([1.0, 3.0, 8.0])
    scores = {name: metric(targets, targets, np.ones(3)) for name, metric in REAL_METRICS.items()}
    assert scores == pytest.approx(BEST_OF_NUMBERS)


def test_without_a_name_it_is_the_first_and_a_wrong_name_is_told_the_right_one() -> None:
    assert metric_named(None, CLASS_METRICS) is accuracy
    assert metric_named("nll", REAL_METRICS) is REAL_METRICS["nll"]
    with pytest.raises(ValueError, match=r"no metric 'coverag' \(did you mean 'coverage'\?\); choose one of r2, mae"):
        metric_named("coverag", REAL_METRICS)
