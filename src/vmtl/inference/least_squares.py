"""The evidence of least squares: how probable targets are under a Gaussian law whose scale is profiled out."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from vmtl._utils.cholesky import cholesky


class Evidence(NamedTuple):
    """log N(y; 0, s^2 A) up to a constant, at the s^2 = y' A^-1 y / n that suits y best; of one output on average."""

    value: Tensor  # ()
    by_covariance: Tensor  # (n, n) its slope in A
    by_ridge: Tensor  # () its slope in lambda beyond that through A
    solved: Tensor  # (n, C) A^-1 y
    diagonal: Tensor  # (n,) of A^-1


def evidence(covariance: Tensor, outputs: Tensor, weight: Tensor, ridge: Tensor) -> Evidence:
    """The evidence of ``outputs`` y (n, C) under A = ``covariance`` (n, n), lambda / weight on its diagonal included.

    A row of weight w stands for w rows, lambda = ``ridge`` being the variance of each; ``weight`` (n,).
    """
    count = weight.sum().to(covariance)
    factor = cholesky(covariance)
    inverse = torch.cholesky_inverse(factor)
    y = outputs.to(covariance)
    solved = inverse @ y
    square = ((y * solved).sum() / y.shape[1]).clamp_min(1e-30)  # n s^2, of a constant target 0
    absent = 0.5 * (len(y) - count) * ridge.log()
    value = absent - factor.diagonal().log().sum() - 0.5 * count * (square / count).log()
    outer = float(0.5 * count / square / y.shape[1])
    diagonal = inverse.diagonal().clone()
    slope = torch.addmm(inverse, solved, solved.T, beta=-0.5, alpha=outer)
    return Evidence(value, slope, 0.5 * (len(y) - count) / ridge, solved, diagonal)
