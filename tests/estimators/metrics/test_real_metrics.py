"""Metrics of numbers against values computed by hand or by another route."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from vmtl import evaluation as metrics


def test_regression_scores_by_hand() -> None:
    y, mean, std = np.array([0.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0]), np.full(3, 2.0)
    assert metrics.rmse(y, mean) == pytest.approx(np.sqrt(2 / 3))
    assert metrics.nmse(y, mean) == pytest.approx((2 / 3) / np.var(y))
    assert metrics.nmse(y, np.full(3, y.mean())) == pytest.approx(1)
    assert metrics.gaussian_nll(y, mean, std) == pytest.approx(-norm(mean, std).logpdf(y).mean())


def test_r2_mae_and_coverage_by_hand() -> None:
    y, mean, std = np.array([0.0, 2.0, 4.0]), np.array([1.0, 2.0, 0.0]), np.ones(3)
    assert metrics.mae(y, mean) == pytest.approx(5 / 3)
    assert metrics.r2(y, mean) == pytest.approx(1 - 17 / 8)
    assert metrics.coverage(y, mean, std) == pytest.approx(2 / 3)
    assert metrics.coverage(y, mean, std, level=0.5) == pytest.approx(1 / 3)
    assert np.isnan(metrics.r2(np.ones(3), mean))
