"""Error variances of tasks against quadrature, and against what is simpler."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from vmtl.gp import error_variances as module
from vmtl.gp.error_variances import error_variances


def test_one_wild_task_leaves_the_others_alone():
    """Sixty tasks of eight errors, of which one has a variance of 10,000."""
    square = torch.full((60,), 8.0, dtype=torch.float64)
    square[0] = 80_000
    variances = error_variances(square, torch.full((60,), 8.0, dtype=torch.float64))
    assert variances[1:].max() < 2
    assert variances[0] > 5_000


def test_no_errors_have_no_variance():
    assert error_variances(torch.zeros(3), torch.full((3,), 8.0)).tolist() == [0.0] * 3


def test_variances_of_tasks_equal_numerical_integration(monkeypatch):
    """E[s_t^2 | errors] and the weight of each (nu, s^2), by quadrature over s_t^2."""
    degrees, ratios = [8.0, 64.0], [0.5, 1.0]
    monkeypatch.setattr(module, "DEGREES", torch.tensor(degrees, dtype=torch.float64))
    monkeypatch.setattr(module, "RATIOS", torch.tensor(ratios, dtype=torch.float64))
    square, count = np.array([3.0, 20.0, 8.0]), np.array([6.0, 9.0, 4.0])
    v = np.exp(np.linspace(-8, 8, 20001))
    weights, means = [], []
    for nu in degrees:
        for ratio in ratios:
            s2 = ratio * square.sum() / count.sum()
            prior = stats.invgamma(nu / 2, scale=nu * s2 / 2).pdf(v)
            joint = [prior * v ** (-n / 2) * np.exp(-q / (2 * v)) for q, n in zip(square, count, strict=True)]
            total = [integrate.trapezoid(value, v) for value in joint]
            weights.append(np.prod(total))
            means.append([integrate.trapezoid(v * value, v) / t for value, t in zip(joint, total, strict=True)])
    expected = np.array(weights) / np.sum(weights) @ np.array(means)
    variances = error_variances(torch.from_numpy(square), torch.from_numpy(count))
    np.testing.assert_allclose(variances, expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("spread", "own_loses", "one_loses"), [(0.0, 0.08, -0.005), (0.7, 0.03, 0.03), (1.0, 0.02, 0.1)]
)
def test_variances_beat_those_of_each_task_and_of_all(spread, own_loses, one_loses):
    """Twenty draws of sixty tasks with eight errors each: the expected log likelihood of further errors."""
    rng = np.random.default_rng(0)
    truth = np.exp(spread * rng.normal(size=(20, 60)))
    square = (truth[..., None] * rng.normal(size=(20, 60, 8)) ** 2).sum(-1)
    each, common = square / 8, np.broadcast_to(square.mean(1, keepdims=True) / 8, square.shape)
    count = torch.full((60,), 8.0, dtype=torch.float64)
    shared = np.stack([error_variances(torch.from_numpy(drawn), count).numpy() for drawn in square])

    def nll(variance: np.ndarray) -> float:
        return float(np.mean(np.log(variance) + truth / variance)) / 2

    assert nll(each) - nll(shared) > own_loses
    assert nll(common) - nll(shared) > one_loses
