"""How sure each weight is, in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.inference.exact.output_prior import OutputPrior

#: Rows that are looked at together.
PART_ROWS = 20_000


def information(rows: Rows, curvature: Tensor, scale: float) -> Tensor:
    """What the rows of a task tell about each weight of [z; 1], d_t = s^2 sum_n h_n z_n^2: (T, K + 1).

    where h = ``curvature`` (n,) of the rows' likelihood.
    """
    told = torch.zeros(rows.n_tasks, rows.x.shape[1] + 1, dtype=torch.float64)  # (T, K + 1)
    task, x = rows.task.cpu(), rows.x.cpu()
    for part in torch.arange(len(task)).split(PART_ROWS):
        h = curvature[part, None]
        told[:, :-1].index_add_(0, task[part], h * x[part].double().square())
        told[:, -1:].index_add_(0, task[part], h)
    return told * scale**2


@dataclass(frozen=True)
class WeightPosterior:
    """The posterior of the weights of [z; 1] in units of the scale s, one feature at a time across the tasks.

    Features that are principal components hardly correlate, so each has a posterior of its own. With w_t = u + e_t,
    var u = rho, var e_t = 1 - rho, and what the rows of task t tell, d_t (``information``):

        var u = 1 / (1 / rho + sum_t d_t / (1 + (1 - rho) d_t)),    cov(w_t, w_i) = [t = i] c_t + g_t g_i var u

    where c_t = 1 / (1 / (1 - rho) + d_t), g_t = c_t / (1 - rho), rho = the mean correlation of B: tasks count as alike.
    The level has the prior variance (A^2 + tau^2) / s^2, of which A^2 is shared.
    """

    alone: Tensor  # (T, K + 1) c
    gain: Tensor  # (T, K + 1) g
    variance_u: Tensor  # (K + 1,)

    @classmethod
    def of(cls, told: Tensor, prior: OutputPrior) -> WeightPosterior:
        rho = prior.covariance.correlation
        shared, individual = torch.full_like(told[0], rho), torch.full_like(told[0], 1 - rho)
        shared[-1], individual[-1] = (prior.shared_level / prior.scale) ** 2, (prior.task_level / prior.scale) ** 2
        shared, individual = shared.clamp_min(1e-9), individual.clamp_min(1e-9)
        variance_u = 1 / (1 / shared + (told / (1 + individual * told)).sum(0))
        alone = 1 / (1 / individual + told)
        return cls(alone, alone / individual, variance_u)

    def deviations(self) -> Tensor:
        """Of every weight: (T, K + 1)."""
        return (self.alone + self.gain.square() * self.variance_u).sqrt()

    def variance_of(self, weights: Tensor) -> Tensor:
        """The variance of sum_t weights_t w_t, weights (T, K + 1): (K + 1,)."""
        individual = (weights.square() * self.alone).sum(0)
        return individual + (weights * self.gain).sum(0).square() * self.variance_u


def weight_widths(rows: Rows, curvature: Tensor, prior: OutputPrior) -> Tensor:
    """Posterior deviations of the weights of [z; 1] in units of the scale s: (T, K + 1)."""
    return WeightPosterior.of(information(rows, curvature, prior.scale), prior).deviations()
