"""The exact posterior against a dense Gaussian, refitting and gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from helpers.toys import toy
from vmtl.data.rows import Rows
from vmtl.inference.exact.output_prior import OutputPrior
from vmtl.inference.exact.posterior import solve_classifier, solve_regression
from vmtl.inference.structure.covariance import alike

PRIOR = OutputPrior(alike(3, 0.7), scale=1.3, task_level=0.5, shared_level=2.0)
ROWS = toy([6, 4, 5]).rows(weight=np.linspace(0.5, 2, 15))
NOISE = 0.4


def prior_precision(size: int) -> Tensor:
    """Of the stacked slopes and levels of three tasks: (T (K + 1), T (K + 1))."""
    one, eye = torch.ones(3, 3, dtype=torch.float64), torch.eye(3, dtype=torch.float64)
    slopes = 1.3**2 * (0.3 * eye + 0.7 * one)
    levels = 2.0**2 * one + 0.5**2 * eye
    covariance = torch.zeros(3, size + 1, 3, size + 1, dtype=torch.float64)
    for k in range(size):
        covariance[:, k, :, k] = slopes
    covariance[:, size, :, size] = levels
    return torch.linalg.inv(covariance.reshape(3 * (size + 1), -1))


def with_one(rows: Rows) -> Tensor:
    """[z; 1] (n, K + 1)."""
    return torch.cat([rows.x, torch.ones(len(rows.y), 1, dtype=torch.float64)], 1)


def test_posterior_mean_is_that_of_the_dense_gaussian() -> None:
    design = torch.zeros(15, 3, 7, dtype=torch.float64)
    design[torch.arange(15), ROWS.task] = with_one(ROWS)
    design = design.flatten(1)
    told = design.T * (ROWS.weight / NOISE**2)
    expected = torch.linalg.solve(prior_precision(6) + told @ design, told @ ROWS.y).view(3, 7)
    solved = solve_regression(ROWS, PRIOR, NOISE).weights[:, 0]
    torch.testing.assert_close(solved, expected, atol=1e-8, rtol=0)


def test_residuals_are_those_of_refitting_without_the_row() -> None:
    residuals = solve_regression(ROWS, PRIOR, NOISE).residuals
    assert residuals is not None
    for i in (0, 7, 14):
        weight = ROWS.weight.clone()
        weight[i] = 0
        without = solve_regression(toy([6, 4, 5]).rows(weight=weight.numpy()), PRIOR, NOISE).weights
        error = ROWS.y[i] - without[ROWS.task[i], 0] @ with_one(ROWS)[i]
        assert float(residuals[i]) == pytest.approx(float(error), abs=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_mode_is_where_the_gradient_of_the_joint_density_vanishes(classes: int) -> None:
    """Of all weights at once, under the dense Gaussian prior."""
    rows = toy([6, 4, 5], classes=classes).rows()
    mode = solve_classifier(rows, PRIOR).weights.requires_grad_()  # (T, C, K + 1)
    logits = torch.einsum("nck,nk->nc", mode[rows.task], with_one(rows))
    stacked = mode.transpose(0, 1).flatten(1)  # (C, T (K + 1))
    prior = torch.einsum("ci,ij,cj->", stacked, prior_precision(6), stacked)
    (gradient,) = torch.autograd.grad(F.cross_entropy(logits, rows.y, reduction="sum") + 0.5 * prior, [mode])
    assert float(gradient.abs().max()) < 1e-3


def test_rows_of_no_weight_are_not_there() -> None:
    weight = np.ones(15)
    weight[[2, 9]] = 0
    rows = toy([6, 4, 5]).rows(weight=weight)
    solution = solve_regression(rows, PRIOR, NOISE)
    assert solution.residuals is not None
    assert solution.residuals[[2, 9]].tolist() == [0.0, 0.0]
    without = solve_regression(rows.take(torch.as_tensor(np.flatnonzero(weight))), PRIOR, NOISE)
    torch.testing.assert_close(solution.weights, without.weights, atol=1e-10, rtol=0)
