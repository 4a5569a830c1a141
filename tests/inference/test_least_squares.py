"""The evidence of least squares: against SciPy, with weights as counts, and its slopes against autograd."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from vmtl.inference.least_squares import evidence

RNG = np.random.default_rng(0)
HALF = torch.as_tensor(RNG.normal(size=(8, 8)))
KERNEL, Y = HALF @ HALF.T / 8, torch.as_tensor(RNG.normal(size=(8, 2)))
ONES, RIDGE = torch.ones(8, dtype=torch.float64), torch.tensor(0.4, dtype=torch.float64)


def covariance(kernel: torch.Tensor, weight: torch.Tensor, ridge: torch.Tensor) -> torch.Tensor:
    return kernel + torch.diag(ridge / weight)


def test_one_output_is_the_density_at_its_best_scale():
    a, y = covariance(KERNEL, ONES, RIDGE), Y[:, :1]
    found = evidence(a, y, ONES, RIDGE)
    scale = float(y[:, 0] @ torch.linalg.solve(a, y[:, 0])) / 8
    expected = multivariate_normal.logpdf(y[:, 0], cov=scale * a.numpy()) + 4 * (math.log(2 * math.pi) + 1)
    assert float(found.value) == pytest.approx(expected)
    torch.testing.assert_close(found.solved, torch.linalg.solve(a, y))
    torch.testing.assert_close(found.diagonal, torch.linalg.inv(a).diagonal())


def test_a_row_of_weight_two_is_the_row_twice():
    twice = torch.tensor([0, 0, 1, 2, 3, 3, 4, 5, 6, 7])
    weight = torch.bincount(twice).double()
    counted = evidence(covariance(KERNEL, weight, RIDGE), Y, weight, RIDGE)
    ones = torch.ones(10, dtype=torch.float64)
    repeated = evidence(covariance(KERNEL[twice][:, twice], ones, RIDGE), Y[twice], ones, RIDGE)
    other = 0.9 * RIDGE
    counted_other = evidence(covariance(KERNEL, weight, other), Y, weight, other)
    repeated_other = evidence(covariance(KERNEL[twice][:, twice], ones, other), Y[twice], ones, other)
    # equal up to a constant that knows neither kernel nor ridge
    assert float(counted.value - repeated.value) == pytest.approx(float(counted_other.value - repeated_other.value))


def test_slopes_are_those_of_autograd():
    weight = torch.as_tensor(RNG.uniform(0.5, 2, size=8))
    kernel, ridge = KERNEL.clone().requires_grad_(), RIDGE.clone().requires_grad_()
    a = covariance(kernel, weight, ridge)
    count = weight.sum()
    square = (Y * torch.linalg.solve(a, Y)).sum() / 2
    plain = 0.5 * (8 - count) * ridge.log() - 0.5 * a.logdet() - 0.5 * count * (square / count).log()
    by_kernel, by_ridge = torch.autograd.grad(plain, (kernel, ridge))
    found = evidence(a.detach(), Y, weight, RIDGE)
    assert float(found.value) == pytest.approx(float(plain.detach()))
    torch.testing.assert_close(found.by_covariance, by_kernel)
    mine = (found.by_covariance.diagonal() / weight).sum() + found.by_ridge
    torch.testing.assert_close(mine, by_ridge)
