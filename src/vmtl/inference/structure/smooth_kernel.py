"""How alike tasks are by position, for many tasks: a factor of few columns instead of a table of all pairs.

k_ti = exp(-gamma |p_t - p_i|^2) is smooth and positions have few dimensions, so that some tens of tasks, well spread,
say what k is for all others (Nystroem's approximation). Cholesky's factorisation with pivots finds them: the next is
the task that those before it explain least, and what is not explained of a task is its own.
"""

from __future__ import annotations

import torch
from torch import Tensor

from vmtl.inference.structure.covariance import LowRankCovariance
from vmtl.inference.structure.readings import Reading

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


def average_covariance(readings: list[Reading], share: Tensor, points: Tensor) -> LowRankCovariance:
    """The average of the readings' B with probabilities ``share`` (R,) of tasks at ``points`` (T, Q).

    Every B is diag(exp(-e_t)) (1 - h + h k) diag(exp(-e_t)) with 1 on the diagonal: their factors stand side by side.
    """
    parts = []
    for reading, probability in zip(readings, share.tolist(), strict=True):
        if probability < LEAST_SHARE:
            continue
        factor = points.new_ones(len(points), 1)
        if len(reading.numbers) > 2:
            gamma, h = float(reading.numbers[2].exp()), reading.numbers[3].sigmoid()
            factor = torch.cat([(1 - h).sqrt() * factor, h.sqrt() * kernel_factor(points, gamma)], 1)
        parts.append(probability**0.5 * torch.exp(-reading.kept)[:, None] * factor)
    return LowRankCovariance.orthogonal(torch.cat(parts, 1))
