"""The posterior of all tasks' weights under one prior of the outputs.

A Gaussian likelihood has its posterior mean in closed form, a softmax its mode after some iterations
(``vmtl.inference.exact.laplace``).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from vmtl._utils.cholesky import cholesky
from vmtl.data.rows import Rows
from vmtl.inference.exact.laplace import posterior_mode
from vmtl.inference.exact.output_prior import Dual, OutputPrior


@dataclass(frozen=True)
class Solution:
    """What the exact model says of the outputs' weights."""

    weights: Tensor  # (T, C, K + 1) posterior means of a regression, the mode of a classifier; the level last
    residuals: Tensor | None  # (n,) leave-one-out errors of a regression, 0 for rows of weight 0


def solve_regression(rows: Rows, prior: OutputPrior, noise: float) -> Solution:
    """E[w | rows] of y = f_t(z) + N(0, noise^2 / weight).

    a = A^-1 y,    A = K + noise^2 / weight,    leave-one-out error of row n = a_n / (A^-1)_nn

    where a = the dual solution (n,), K = the kernel of the outputs (n, n).
    """
    dual = Dual.of(rows)
    covariance = prior.kernel(dual.gram, dual.task)
    covariance.diagonal().add_(noise**2 / dual.weight)
    inverse = torch.cholesky_inverse(cholesky(covariance))
    solution = inverse @ dual.y.double()
    residuals = dual.to_all_rows(solution / inverse.diagonal())
    return Solution(dual.weights(solution[:, None], prior), residuals)


def solve_classifier(rows: Rows, prior: OutputPrior) -> Solution:
    """argmax_w p(w | rows) of y ~ softmax(f_t(z)). The dual solution is a = K^-1 f, f the logits at the mode."""
    dual = Dual.of(rows)
    mode = posterior_mode(prior.kernel(dual.gram, dual.task), dual.y, dual.n_classes, dual.weight)
    return Solution(dual.weights(mode.solution, prior), None)
