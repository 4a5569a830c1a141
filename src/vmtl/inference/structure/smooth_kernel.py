"""How alike tasks are by position, for many tasks: a factor of few columns instead of a table of all pairs.

k_ti = exp(-gamma |p_t - p_i|^2) is smooth and positions have few dimensions, so that some tens of tasks, well spread,
say what k is for all others (Nystroem's approximation). Cholesky's factorisation with pivots finds them: the next is
the task that those before it explain least, and what is not explained of a task is its own.
"""

from __future__ import annotations

import torch
from torch import Tensor

from vmtl.inference.structure.covariance import LowRankCovariance

#: Most tasks that stand for all others, and what may be left unexplained of a task's 1.
MAX_LANDMARKS, UNEXPLAINED = 64, 0.01
#: A reading with a smaller probability does not count.
LEAST_SHARE = 1e-4


def kernel_factor(points: Tensor, gamma: float) -> Tensor:
    """(T, R) whose rows have the inner products k, or less than 1 with themselves; ``points`` is (T, Q)."""
    left = points.new_ones(len(points))  # (T,) the part of k_tt that is not explained
    factor = points.new_empty(len(points), 0)
    while factor.shape[1] < min(MAX_LANDMARKS, len(points)) and float(left.max()) > UNEXPLAINED:
        pivot = int(left.argmax())
        column = torch.exp(-gamma * (points - points[pivot]).square().sum(-1)) - factor @ factor[pivot]
        column = column / left[pivot].sqrt()
        factor = torch.cat([factor, column[:, None]], 1)
        left = (left - column.square()).clamp_min(0)
        left[pivot] = 0
    return factor


def placed_covariance(
    apart: Tensor, share: Tensor, points: Tensor, decay: float, member: Tensor | None = None, gap: Tensor | None = None
) -> LowRankCovariance:
    """B_ti = exp(-o_t - o_i - D [g_t != g_i]) k_ti of tasks at ``points`` (T, Q), the average of readings with
    probabilities ``share`` (R,) and o = ``apart`` (R, T): their factors stand side by side.

    With groups g, known as ``member`` (R, T, G) says, and D = ``gap`` (R,), a reading has the factor of its readings
    exp(-D) that all tasks share, and 1 - exp(-D) more of each group.
    """
    kernel = kernel_factor(points, decay)
    factors = []
    for reading in (share > LEAST_SHARE).nonzero().flatten():
        factor = share[reading].sqrt() * torch.exp(-apart[reading])[:, None] * kernel  # (T, L)
        if member is not None and gap is not None and float(gap[reading]) > 0:
            across = torch.exp(-gap[reading])
            of_group = (member[reading][:, :, None] * factor[:, None]).flatten(1)  # (T, G L)
            factor = torch.cat([across.sqrt() * factor, (1 - across).sqrt() * of_group], 1)
        factors.append(factor)
    return LowRankCovariance.orthogonal(torch.cat(factors, 1))
