"""Metrics of classes against values computed by hand or by another route."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from vmtl import evaluation as metrics
from vmtl.estimators.metrics.class_metrics import ECE_BINS

Y = np.array([0, 1, 2, 1])
P = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.5, 0.3, 0.2], [0.2, 0.6, 0.2]])


def test_accuracy_nll_and_brier_by_hand() -> None:
    assert metrics.accuracy(Y, P) == 0.75
    assert metrics.nll(Y, P) == pytest.approx(-np.log([0.7, 0.8, 0.2, 0.6]).mean())
    by_hand = [0.3**2 + 0.2**2 + 0.1**2, 0.1**2 + 0.2**2 + 0.1**2, 0.5**2 + 0.3**2 + 0.8**2, 0.2**2 + 0.4**2 + 0.2**2]
    assert metrics.brier(Y, P) == pytest.approx(np.mean(by_hand))


def test_ece_agrees_with_the_calibration_curve_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 500)
    y = rng.integers(0, 4, 500)
    confidence, right = p.max(axis=1), p.argmax(axis=1) == y
    observed, predicted = calibration_curve(right, confidence, n_bins=ECE_BINS)
    bins = np.digitize(confidence, np.linspace(0, 1, ECE_BINS + 1)[1:-1])
    weight = np.bincount(bins)[np.bincount(bins) > 0] / len(y)
    assert metrics.ece(y, p) == pytest.approx(np.sum(weight * np.abs(observed - predicted)))


def test_ece_of_a_calibrated_and_of_an_overconfident_forecast() -> None:
    y = np.array([0, 0, 0, 1])
    assert metrics.ece(y, np.tile([0.75, 0.25], (4, 1))) == pytest.approx(0)
    assert metrics.ece(y, np.tile([1.0, 0.0], (4, 1))) == pytest.approx(0.25)


def test_entropy_ratio_is_high_when_errors_are_uncertain() -> None:
    p = np.array([[0.99, 0.01], [0.99, 0.01], [0.5, 0.5]])
    y = np.array([0, 0, 1])
    certain = -(0.99 * np.log(0.99) + 0.01 * np.log(0.01))
    assert metrics.entropy_ratio(y, p) == pytest.approx(np.log(2) / certain)
    assert np.isnan(metrics.entropy_ratio(np.zeros(3, int), p))  # nothing is wrong


def test_harmonic_mean_of_seen_and_unseen_classes() -> None:
    seen = np.array([True, True, False])
    p = np.eye(3)[[0, 1, 2, 0]]
    scores = metrics.unseen_class_scores(np.array([0, 0, 2, 2]), p, seen)
    assert scores == {"accuracy_seen": 0.5, "accuracy_unseen": 0.5, "accuracy_harmonic": pytest.approx(0.5)}
    assert metrics.unseen_class_scores(np.array([0, 1]), p[:2], seen) == {}
    assert metrics.unseen_class_scores(np.array([0, 2]), p[[0, 0]], seen)["accuracy_harmonic"] == 0


def test_per_task_scores_see_only_their_own_rows() -> None:
    task = np.array([0, 2, 0, 2])
    by_task = metrics.per_task(task, 3, lambda rows: metrics.class_scores(Y[rows], P[rows]))
    assert [scores.get("accuracy") for scores in by_task] == [0.5, None, 1.0]


def test_a_probability_of_zero_gives_a_finite_loss() -> None:
    assert np.isfinite(metrics.nll(np.array([1]), np.array([[1.0, 0.0]])))


def test_scores_of_a_rare_event_do_not_flatter_a_model_that_never_predicts_it() -> None:
    y = np.repeat([0, 1], [87, 13])
    p = np.tile([0.87, 0.13], (100, 1))
    assert metrics.accuracy(y, p) == 0.87
    assert metrics.balanced_accuracy(y, p) == 0.5
    assert metrics.auc(y, p) == 0.5
    assert metrics.f1(y, p) == 0.0
    assert metrics.f1(y, p, positive=0) == pytest.approx(2 * 87 / (2 * 87 + 13))


def test_auc_is_the_share_of_pairs_in_the_right_order() -> None:
    rng = np.random.default_rng(0)
    y, score = rng.integers(0, 2, 60), rng.random(60).round(1)
    one, other = score[y == 1][:, None], score[y == 0]
    pairs = np.mean((one > other) + 0.5 * (one == other))
    assert metrics.auc(y, np.column_stack([1 - score, score])) == pytest.approx(pairs)


def test_auc_of_many_classes_is_the_mean_over_those_that_have_rows() -> None:
    rng = np.random.default_rng(1)
    p, y = rng.dirichlet(np.ones(4), 90), rng.integers(0, 3, 90)  # no row of the last class
    by_class = []
    for c in range(3):
        one, other = p[y == c, c][:, None], p[y != c, c]
        by_class.append(np.mean((one > other) + 0.5 * (one == other)))
    assert metrics.auc(y, p) == pytest.approx(np.mean(by_class))


def test_balanced_accuracy_and_f1_by_hand() -> None:
    assert metrics.balanced_accuracy(Y, P) == pytest.approx((1 + 1 + 0) / 3)
    assert metrics.f1(Y, P) == pytest.approx((2 / 3 + 1 + 0) / 3)


@pytest.mark.parametrize("score", [metrics.auc, metrics.balanced_accuracy, metrics.f1])
def test_one_class_cannot_tell(score: Callable[[np.ndarray, np.ndarray], float]) -> None:
    assert np.isnan(score(np.zeros(3, int), np.tile([0.6, 0.4], (3, 1))))
