"""Metrics against values computed by hand or by another route."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.calibration import calibration_curve

from vmtl.evaluation import metrics

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
    observed, predicted = calibration_curve(right, confidence, n_bins=metrics.ECE_BINS)
    bins = np.digitize(confidence, np.linspace(0, 1, metrics.ECE_BINS + 1)[1:-1])
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


def test_regression_scores_by_hand() -> None:
    y, mean, std = np.array([0.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0]), np.full(3, 2.0)
    assert metrics.rmse(y, mean) == pytest.approx(np.sqrt(2 / 3))
    assert metrics.nmse(y, mean) == pytest.approx((2 / 3) / np.var(y))
    assert metrics.nmse(y, np.full(3, y.mean())) == pytest.approx(1)
    assert metrics.gaussian_nll(y, mean, std) == pytest.approx(-norm(mean, std).logpdf(y).mean())


def test_per_task_scores_see_only_their_own_rows() -> None:
    task = np.array([0, 2, 0, 2])
    found = metrics.per_task(task, 3, lambda rows: metrics.class_scores(Y[rows], P[rows]))
    assert [scores.get("accuracy") for scores in found] == [0.5, None, 1.0]


def test_a_probability_of_zero_gives_a_finite_loss() -> None:
    assert np.isfinite(metrics.nll(np.array([1]), np.array([[1.0, 0.0]])))
