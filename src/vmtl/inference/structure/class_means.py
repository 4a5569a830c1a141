"""The mean representation of every class in every task, and what rows leave of it.

    mu_tc = sum_n weight_n psi_c(y_n) z_n / n_tc,    n_tc = sum_n weight_n psi_c(y_n)^2

where z = ``rows.x`` (n, K); psi = the indicators of the classes, or in a regression 1 and the task's own standardised
target, so that mu_t2 is how a representation moves with the target.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl.data.rows import Rows

#: Rows whose weight in their own class mean is larger say nothing about the variance within classes.
MAX_LEVERAGE = 0.9
#: Rows that a task's own variance must have to count as much as the variance of all tasks.
PRIOR_ROWS = 5.0


@dataclass(frozen=True)
class ClassMean:
    """One class in the tasks that have seen it."""

    tasks: Tensor  # (M,)
    counts: Tensor  # (M,) n_tc
    means: Tensor  # (M, K) mu_tc
    rows: Tensor  # (N,) the rows of the class
    place: Tensor  # (N,) of their tasks among ``tasks``


@dataclass(frozen=True)
class ClassCells:
    """The classes of the tasks: which rows belong to them, and how many."""

    design: Tensor  # (n, C) psi of every row
    task: Tensor  # (n,)
    weight: Tensor  # (n,)
    counts: Tensor  # (T, C) n_tc

    @classmethod
    def of(cls, rows: Rows) -> ClassCells:
        weight = rows.weight.double() / rows.unit
        if rows.is_classification:
            design = F.one_hot(rows.y, rows.n_classes).double()
        else:
            total = sum_by_task(weight[:, None], rows.task, rows.n_tasks)
            mean = sum_by_task((weight * rows.y.double())[:, None], rows.task, rows.n_tasks) / total.clamp_min(1e-12)
            target = rows.y.double() - mean[rows.task, 0]
            scale = (weight @ target.square() / weight.sum()).sqrt().clamp_min(1e-12)
            design = torch.stack([torch.ones_like(target), target / scale], 1)
        counts = sum_by_task(weight[:, None] * design.square(), rows.task, rows.n_tasks)
        return cls(design, rows.task, weight, counts)

    def means(self, z: Tensor) -> Iterator[ClassMean]:
        """Class by class: one table of (T, C, K) would be large."""
        for c in range(self.counts.shape[1]):
            rows = (self.weight * self.design[:, c]).nonzero().flatten()
            tasks, place = self.task[rows].unique(return_inverse=True)
            share = (self.weight * self.design[:, c])[rows, None].to(z)
            counts = self.counts[tasks, c]
            means = sum_by_task(share * z[rows], place, len(tasks)) / counts[:, None].clamp_min(1e-12).to(z)
            yield ClassMean(tasks, counts, means, rows, place)

    def within(self, z: Tensor) -> Tensor:
        """(n, K) what the classes' means in all tasks leave."""
        share = self.weight[:, None] * self.design  # (n, C)
        means = share.T.to(z) @ z / self.counts.sum(0).clamp_min(1e-12)[:, None].to(z)  # (C, K)
        return z - self.design.to(z) @ means

    def residuals(self, z: Tensor) -> Tensor:
        """(n, K) what the means leave."""
        rest = z.clone()
        for c, of_class in enumerate(self.means(z)):
            own = self.design[of_class.rows, c, None].to(z)
            rest[of_class.rows] -= own * of_class.means[of_class.place]
        return rest

    def variance(self, z: Tensor) -> Tensor:
        """(T,) v_t, the variance within the classes of a task, drawn towards that of all tasks."""
        n_tasks = len(self.counts)
        square = self.weight * self.residuals(z).square().sum(-1).double()
        squares = sum_by_task(square[:, None], self.task, n_tasks)[:, 0]
        seen = (self.counts > 0).sum(-1)
        total = sum_by_task(self.weight[:, None], self.task, n_tasks)[:, 0]
        freedom = (total - seen).clamp_min(0)
        common = squares.sum() / freedom.sum().clamp_min(1e-12)
        return (squares + PRIOR_ROWS * common) / (freedom + PRIOR_ROWS)

    def redrawn(self, z: Tensor, draws: int, seed: int) -> Iterator[Tensor]:
        """(n, K), so many times: rows drawn from the residuals of all tasks, which know nothing of tasks.

        None where every row is nearly its own class mean.
        """
        cells = self.counts[self.task].clamp_min(1e-12)  # (n, C)
        leverage = self.weight * (self.design.square() / cells).sum(-1)  # of a row in its own means
        usable = (leverage < MAX_LEVERAGE).nonzero().flatten()
        if not len(usable):
            return
        pool = self.residuals(z)[usable] / (1 - leverage[usable, None]).sqrt().to(z)
        generator = torch.Generator().manual_seed(seed)
        for draw in torch.randint(len(pool), (draws, len(z)), generator=generator):
            yield pool[draw]


def sum_by_task(values: Tensor, task: Tensor, n_tasks: int) -> Tensor:
    """Sum of the rows of every task: (n, K) to (T, K)."""
    return values.new_zeros(n_tasks, values.shape[1]).index_add(0, task, values)
