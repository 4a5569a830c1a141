"""How large the errors of every task are, where a task of few rows keeps to the errors of all."""

from __future__ import annotations

import torch
from torch import Tensor

#: Grid of nu and of s^2 over the mean square, where tasks have variances of their own.
DEGREES = 2.0 ** torch.arange(2, 13, dtype=torch.float64)
RATIOS = 2.0 ** torch.linspace(-10, 1, 67, dtype=torch.float64)


def error_variances(square: Tensor, count: Tensor) -> Tensor:
    """E[s_t^2] of errors e_tn ~ N(0, s_t^2), s_t^2 ~ Scaled-Inv-chi^2(nu, s^2): (T,).

    E[s_t^2 | nu, s^2] = (nu s^2 + sum_n e_tn^2) / (nu + n_t - 2)

    where sum_n e_tn^2 = ``square`` (T,), n_t = ``count`` (T,); nu and s^2 are averaged over a grid, with the
    probability of all tasks' errors as weight. Tasks with errors alike get one variance, others their own.
    """
    mean = float(square.sum() / count.sum())
    if mean <= 0:  # no errors at all
        return torch.zeros_like(square)
    nu, s2 = torch.meshgrid(DEGREES, mean * RATIOS, indexing="ij")
    nu, s2 = nu.reshape(-1, 1), s2.reshape(-1, 1)  # (G, 1)
    total, n = nu * s2 + square, nu + count  # (G, T)
    log_p = torch.lgamma(n / 2) - torch.lgamma(nu / 2) + nu / 2 * (nu * s2).log() - n / 2 * total.log()
    variance: Tensor = log_p.sum(-1).softmax(0) @ (total / (n - 2))
    return variance
