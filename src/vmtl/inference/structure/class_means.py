"""The mean representation of every class of some tasks, and how far those of two tasks are apart.

The mean of few rows is far from everything. What is subtracted from a squared distance is the expected square of that
noise, so that two tasks of one population are at distance 0 on average, however few rows they have:

    D_ti = sum_c p_c (|mu_tc - mu_ic|^2 - v_t / n_tc - v_i / n_ic),    p_c ~ 1 / (v_t / n_tc + v_i / n_ic)

Classes that only one of the two has seen do not count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class ClassMeans:
    """What distances of tasks are made from."""

    means: Tensor  # (T, C, K) mu_tc
    counts: Tensor  # (T, C) n_tc
    variance: Tensor  # (T,) v_t, within the classes

    def distances(self, others: ClassMeans) -> Tensor:
        """(T, I) D of every task here to every task of ``others``, in the unit of the representations."""
        total = self.means.new_zeros(len(self.means), len(others.means))
        precision = torch.zeros_like(total)
        for c in range(self.counts.shape[1]):  # of (T, I) each
            noise = self._noise(c)[:, None] + others._noise(c)
            both = (self.counts[:, c, None] > 0) & (others.counts[:, c] > 0)
            share = torch.where(both, 1 / noise.clamp_min(1e-30), 0.0)
            total += share * (_squared(self.means[:, c], others.means[:, c]) - noise)
            precision += share
        return total / precision.clamp_min(1e-30)

    def unit(self) -> Tensor:
        """() the variance within classes, the unit of squared distances."""
        return self.variance.mean().clamp_min(1e-30)

    def _noise(self, c: int) -> Tensor:
        return self.variance / self.counts[:, c].clamp_min(1e-12)

    def without_classes(self, is_classification: bool) -> ClassMeans:
        """One mean for all rows of a task; what its classes are apart is then part of the variance within it."""
        if not is_classification:  # the first cell is all rows
            return replace(self, means=self.means[:, :1], counts=self.counts[:, :1])
        total = self.counts.sum(-1, keepdim=True)  # (T, 1)
        share = (self.counts / total.clamp_min(1e-12))[..., None]  # (T, C, 1)
        mean = (share * self.means).sum(1, keepdim=True)  # (T, 1, K)
        between = (share * (self.means - mean).square()).sum((1, 2))
        return ClassMeans(mean, total, self.variance + between)

    def append(self, other: ClassMeans) -> ClassMeans:
        """The tasks here, then those of ``other``."""
        return ClassMeans(*(torch.cat([a, b]) for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    def merge(self, task: int, more: ClassMeans) -> ClassMeans:
        """The same with more rows, those of the one task of ``more``, for the task of this number."""
        old, new = self.counts[task], more.counts[0]
        share = (new / (old + new).clamp_min(1e-12))[:, None]
        total = old.sum() + new.sum()
        means, counts, variance = self.means.clone(), self.counts.clone(), self.variance.clone()
        means[task] += share * (more.means[0] - means[task])
        counts[task] += new
        variance[task] += new.sum() / total.clamp_min(1e-12) * (more.variance[0] - variance[task])
        return ClassMeans(means, counts, variance)


def _squared(first: Tensor, second: Tensor) -> Tensor:
    """(T, I) squared distances of points (T, K) and (I, K)."""
    norms = first.square().sum(-1)[:, None] + second.square().sum(-1)
    return (norms - 2 * first @ second.T).clamp_min(0)
