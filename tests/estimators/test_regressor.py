"""Regression as a user meets it."""

from __future__ import annotations

import numpy as np

from helpers.three_tasks import REAL, TASK, UNIT, regressor
from vmtl import MultiTaskRegressor


def test_regression_is_in_the_unit_of_the_user(reg: MultiTaskRegressor) -> None:
    mean, std = reg.predict(REAL.X, tasks=TASK, return_std=True)
    assert reg.score(REAL.X, UNIT, tasks=TASK) > 0.5
    assert 800 < mean.min() < mean.max() < 1200
    parts = reg.uncertainty(REAL.X, tasks=TASK)
    np.testing.assert_allclose(parts.total, std)
    np.testing.assert_allclose(parts.total**2, parts.aleatoric**2 + parts.epistemic**2)
    residual = np.sqrt(np.mean((mean - UNIT) ** 2))
    assert 0.3 * residual < std.mean() < 5 * residual
    other = regressor().fit(REAL.X, 3.0 + 0.001 * REAL.y, tasks=TASK)
    small, small_std = other.predict(REAL.X, tasks=TASK, return_std=True)
    np.testing.assert_allclose((small - 3.0) / 0.001, (mean - 1000) / 50, atol=1e-3)
    np.testing.assert_allclose(small_std / 0.001, std / 50, rtol=1e-3)


def test_a_constant_target() -> None:
    model = regressor().fit(REAL.X, np.full(48, 7.0), tasks=TASK)
    np.testing.assert_allclose(model.predict(REAL.X, tasks=TASK), 7.0, atol=0.5)
