"""The prior of the latent function of all tasks: a mixed model with a kernel.

    f_t(z) = a + b_t + s w_t . [z; kappa],    a ~ N(0, A^2),  b_t ~ N(0, tau^2),  cov(w_t, w_i) = B_ti I

so that cov(f_t(z), f_i(z')) = A^2 + tau^2 [t = i] + s^2 B_ti (z . z' + kappa^2). The levels a and b_t are apart from the
slopes: labels with hardly any signal have a small s, and their base rate is not pulled towards even classes for that. The
constant feature kappa makes up for the centring of the features. Without it, rows that are held out show in where the
others' mean lies, and a large s looks better on them than it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.gp.priors import SHARED_LEVEL
from vmtl.gp.task_covariance import TaskCovariance

CONSTANT = 2.0


@dataclass(frozen=True)
class LatentPrior:
    """The hyperparameters of one such prior."""

    covariance: TaskCovariance  # B
    scale: float  # s
    task_level: float  # tau
    shared_level: float = SHARED_LEVEL  # A

    def kernel(self, gram: Tensor, task: Tensor) -> Tensor:
        """The covariance (n, n) of f at rows with inner products ``gram`` (n, n) and tasks (n,).

        This is where B multiplies the kernel.
        """
        total = self.covariance.between(task).mul_(gram).mul_(self.scale**2)
        total.add_(task[:, None] == task, alpha=self.task_level**2)
        return total.add_(self.shared_level**2)

    def scaled(self, unit: float) -> LatentPrior:
        """The prior of ``unit`` times f."""
        return LatentPrior(self.covariance, unit * self.scale, unit * self.task_level, unit * self.shared_level)


@dataclass(frozen=True)
class Gram:
    """Feature rows with their inner products, from which every prior's kernel is made."""

    rows: Rows
    z: Tensor  # (n, K)
    products: Tensor  # (n, n) z . z' + kappa^2

    @classmethod
    def of(cls, rows: Rows) -> Gram:
        z = rows.x.double()
        return cls(rows, z, z @ z.T + CONSTANT)

    def kernel(self, prior: LatentPrior) -> Tensor:
        """(n, n)."""
        return prior.kernel(self.products, self.rows.task)

    def weights(self, dual: Tensor, prior: LatentPrior) -> Tensor:
        """Slopes and, last, level of every task and output under the dual solution a = K^-1 f (n, L): (T, L, K + 1).

        s w_tl = s^2 sum_n B_{t, t_n} a_nl z_n
        level_tl = A^2 sum_n a_nl + tau^2 sum_{n in t} a_nl + s^2 kappa^2 sum_n B_{t, t_n} a_nl
        """
        by_task = self.z.new_zeros(self.rows.n_tasks, dual.shape[1], self.z.shape[1] + 1)
        for output, a in enumerate(dual.T):
            by_task[:, output, :-1].index_add_(0, self.rows.task, a[:, None] * self.z)
            by_task[:, output, -1].index_add_(0, self.rows.task, a)
        level = by_task[..., -1]  # (T, L) sums of a
        slopes = prior.scale**2 * prior.covariance.apply(by_task[..., :-1])
        levels = prior.shared_level**2 * level.sum(0) + prior.task_level**2 * level
        levels = levels + prior.scale**2 * CONSTANT * prior.covariance.apply(level)
        return torch.cat([slopes, levels[..., None]], -1)
