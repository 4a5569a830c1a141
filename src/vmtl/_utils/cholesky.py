"""Cholesky factors of covariances whose smallest eigenvalues rounding may have taken below 0."""

from __future__ import annotations

import math

import torch
from torch import Tensor

#: The largest jitter that is tried, in units of the mean diagonal.
MOST = 1e-3
#: Bound of the condition number below which single precision keeps enough digits of a solution.
SINGLE_PRECISION = 1e5


def working_precision(least: float, most: float) -> torch.dtype:
    """The precision that is enough to factorise a matrix with eigenvalues between ``least`` and ``most``.

    Single precision, in half the time, where its rounding, 6e-8 of the largest, is at most a few thousandths of the
    smallest; that is a bound for the worst direction, and what is asked for are sums over all.
    """
    return torch.float32 if most < SINGLE_PRECISION * least else torch.float64


def inverse(matrix: Tensor) -> Tensor:
    """(matrix + j I)^-1 of covariances (..., n, n), by their factors.

    Not by ``torch.linalg.inv``: on more than one thread its LU factors of several matrices of some hundred rows have
    pivots that are no rows (MKL's, in torch 2.13), and it raises or does not return.
    """
    return torch.cholesky_inverse(cholesky(matrix))


def cholesky(matrix: Tensor) -> Tensor:
    """Lower triangular L with L L' = matrix + j I: (..., n, n).

    j = 0 wherever the plain factorisation succeeds. A covariance with eigenvalues near 0 may miss that by rounding, on
    one processor and not on another; then j is eps times the trace, about what rounding can take from an
    eigenvalue, and ten times more at every further attempt.
    """
    factor: Tensor
    factor, info = torch.linalg.cholesky_ex(matrix)
    if not bool(info.any()):
        return factor
    diagonal = matrix.detach().diagonal(dim1=-2, dim2=-1)  # (..., n)
    jitter, limit = torch.finfo(matrix.dtype).eps * diagonal.sum(-1), float(MOST * diagonal.mean(-1).max())
    while 0 < float(jitter.max()) <= limit < math.inf:  # never true of NaN
        factor, info = torch.linalg.cholesky_ex(matrix + torch.diag_embed(jitter[..., None].expand_as(diagonal)))
        if not bool(info.any()):
            return factor
        jitter = 10 * jitter
    raise torch.linalg.LinAlgError(  # type: ignore[attr-defined]
        "A covariance of the training rows is not positive definite; scale the columns of X."
    )
