"""What is believed of the outputs of all tasks before any row is seen: a mixed model with a kernel.

f_t(z) = a + b_t + s w_t . z,    a ~ N(0, A^2),  b_t ~ N(0, tau^2),  cov(w_t, w_t') = B_tt' I

so that cov(f_t(z), f_t'(z')) = A^2 + tau^2 [t = t'] + s^2 B_tt' z . z'. The levels a and b_t are apart from the slopes:
labels with hardly any signal have a small s, and their base rate is not pulled towards even classes for that.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.inference.structure.covariance import TaskCovariance

#: A: the level that all tasks share is as good as free, for logits and for targets in units of their noise.
SHARED_LEVEL = 5.0


@dataclass(frozen=True)
class OutputPrior:
    """The numbers of one such prior."""

    covariance: TaskCovariance  # B
    scale: float  # s
    task_level: float  # tau
    shared_level: float = SHARED_LEVEL  # A

    def kernel(self, gram: Tensor, task: Tensor) -> Tensor:
        """The covariance (n, n) of the outputs of rows with inner products ``gram`` (n, n) and tasks (n,)."""
        total = self.covariance.between(task).mul_(gram).mul_(self.scale**2)
        total.add_(task[:, None] == task, alpha=self.task_level**2)
        return total.add_(self.shared_level**2)


@dataclass(frozen=True)
class Dual:
    """The rows of positive weight with their inner products, from which every prior's kernel is made."""

    z: Tensor  # (n, K)
    y: Tensor  # (n,)
    task: Tensor  # (n,)
    weight: Tensor  # (n,)
    gram: Tensor  # (n, n)
    counted: Tensor  # (N,) which of all rows they are
    n_tasks: int
    n_classes: int

    @classmethod
    def of(cls, rows: Rows) -> Dual:
        counted = rows.weight.cpu() > 0
        z, task = rows.x.double().cpu()[counted], rows.task.cpu()[counted]
        weight = rows.weight.double().cpu()[counted]
        return cls(z, rows.y.cpu()[counted], task, weight, z @ z.T, counted, rows.n_tasks, rows.n_classes)

    def weights(self, solution: Tensor, prior: OutputPrior) -> Tensor:
        """Slopes and, last, level of every task and output under the dual solution a = K^-1 f (n, C): (T, C, K + 1).

        s w_tc = s^2 sum_n B_{t, t_n} a_nc z_n,    level_tc = A^2 sum_n a_nc + tau^2 sum_{n in t} a_nc
        """
        by_task = self.z.new_zeros(self.n_tasks, solution.shape[1], self.z.shape[1] + 1)
        for c, a in enumerate(solution.T):
            by_task[:, c, :-1].index_add_(0, self.task, a[:, None] * self.z)
            by_task[:, c, -1].index_add_(0, self.task, a)
        level = by_task[..., -1]  # (T, C) sums of a
        slopes = prior.scale**2 * prior.covariance.apply(by_task[..., :-1])
        levels = prior.shared_level**2 * level.sum(0) + prior.task_level**2 * level
        return torch.cat([slopes, levels[..., None]], -1)

    def to_all_rows(self, values: Tensor) -> Tensor:
        """Numbers (n,) of these rows among those of all rows (N,), which are 0."""
        everywhere = torch.zeros(len(self.counted), dtype=values.dtype)
        everywhere[self.counted] = values
        return everywhere
