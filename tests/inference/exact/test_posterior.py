"""The exact posterior against a dense Gaussian, refitting and gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from helpers.toys import toy
from vmtl.inference.exact.posterior import Dual, solve_classifier, solve_regression
from vmtl.inference.exact.task_structure import exchangeable

B = exchangeable(3, 0.7).covariance
ROWS = toy([6, 4, 5]).rows()
SCALE, NOISE = 1.3, 0.4


def dense_posterior() -> torch.Tensor:
    """E[w | y] of the stacked weights, from the joint Gaussian of all of them."""
    x = torch.cat([ROWS.x, torch.ones(15, 1, dtype=torch.float64)], 1)
    design = torch.zeros(15, 3, x.shape[1], dtype=torch.float64)
    design[torch.arange(15), ROWS.task] = SCALE * x
    design = design.flatten(1)
    prior = torch.linalg.inv(torch.kron(B, torch.eye(x.shape[1], dtype=torch.float64)))
    precision = prior + design.T @ design / NOISE**2
    return torch.linalg.solve(precision, design.T @ ROWS.y / NOISE**2).view(3, -1)


def test_posterior_mean_is_that_of_the_dense_gaussian():
    means = solve_regression(ROWS, B, SCALE, NOISE).means
    torch.testing.assert_close(means[:, 0], dense_posterior())


def test_residuals_are_those_of_refitting_without_the_row():
    residuals = solve_regression(ROWS, B, SCALE, NOISE).residuals
    for i in (0, 7, 14):
        weight = ROWS.weight.clone()
        weight[i] = 0
        without = toy([6, 4, 5]).rows(weight=weight.numpy())
        means = solve_regression(without, B, SCALE, NOISE).means
        x = torch.cat([ROWS.x[i], torch.ones(1, dtype=torch.float64)])
        assert float(residuals[i]) == pytest.approx(float(ROWS.y[i] - SCALE * means[ROWS.task[i], 0] @ x), rel=1e-8)


def test_the_mode_is_where_the_gradient_of_the_joint_density_vanishes():
    """Of all weights at once, under the dense Gaussian prior kron(B, I)."""
    rows = toy([6, 4, 5], classes=3).rows()
    mode = solve_classifier(rows, B, SCALE).means.requires_grad_()  # (T, C, K+1)
    x = torch.cat([rows.x, torch.ones(15, 1, dtype=torch.float64)], 1)
    logits = SCALE * torch.einsum("nck,nk->nc", mode[rows.task], x)
    prior = torch.einsum("tck,ti,ick->", mode, torch.linalg.inv(B), mode)
    (gradient,) = torch.autograd.grad(F.cross_entropy(logits, rows.y, reduction="sum") + 0.5 * prior, [mode])
    assert float(gradient.abs().max()) < 1e-3


def test_outputs_of_the_weights_are_the_kernel_times_the_dual_solution():
    solution = torch.randn(15, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    dual = Dual.of(ROWS, B, SCALE)
    weights = dual.weights(solution)  # (T, C, K + 1)
    outputs = SCALE * torch.einsum("nck,nk->nc", weights[ROWS.task], dual.x)
    torch.testing.assert_close(outputs, dual.kernel @ solution)


def test_rows_of_no_weight_are_not_there():
    weight = np.ones(15)
    weight[[2, 9]] = 0
    rows = toy([6, 4, 5]).rows(weight=weight)
    solution = solve_regression(rows, B, SCALE, NOISE)
    assert solution.residuals[[2, 9]].tolist() == [0.0, 0.0]
    without = solve_regression(rows.take(torch.as_tensor(np.flatnonzero(weight))), B, SCALE, NOISE)
    torch.testing.assert_close(solution.means, without.means)
