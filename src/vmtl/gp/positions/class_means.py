"""The mean representation of every class in every task, and what rows leave of it.

    mu_tc = sum_n weight_n psi_c(y_n) z_n / n_tc,    n_tc = sum_n weight_n psi_c(y_n)^2

where z = ``rows.x`` (n, K); psi = the indicators of the classes, or in a regression 1 and the task's own standardised
target, so that mu_t2 is how a representation moves with the target. Two tasks are

    D_ti = sum_c p_c (|mu_tc - mu_ic|^2 - v_t / n_tc - v_i / n_ic),    p_c ~ 1 / (v_t / n_tc + v_i / n_ic)

apart, v_t the variance of z within the classes of task t. The mean of few rows is far from everything: what is
subtracted is the expected square of that noise, so that two tasks of one population are at distance 0 on average,
however few rows they have. Classes that only one of the two has seen do not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

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
    target_scale: float = 1.0  # deviation of a regression's targets within tasks

    @classmethod
    def of(cls, rows: Rows, target_scale: float | None = None) -> ClassCells:
        """The cells of these rows; their targets in units of ``target_scale`` where that is known already."""
        weight = rows.weight.double() / rows.unit
        scale = 1.0
        if rows.is_classification:
            design = F.one_hot(rows.y, rows.n_classes).double()
        else:
            total = sum_by_task(weight[:, None], rows.task, rows.n_tasks)
            mean = sum_by_task((weight * rows.y.double())[:, None], rows.task, rows.n_tasks) / total.clamp_min(1e-12)
            target = rows.y.double() - mean[rows.task, 0]
            deviation = (weight @ target.square() / weight.sum()).sqrt().clamp_min(1e-12)
            scale = float(deviation) if target_scale is None else target_scale
            design = torch.stack([torch.ones_like(target), target / scale], 1)
        counts = sum_by_task(weight[:, None] * design.square(), rows.task, rows.n_tasks)
        return cls(design, rows.task, weight, counts, scale)

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
            psi = self.design[of_class.rows, c, None].to(z)
            rest[of_class.rows] -= psi * of_class.means[of_class.place]
        return rest

    def variance(self, z: Tensor, common: Tensor | None = None) -> Tensor:
        """(T,) v_t, the variance within the classes of a task, drawn towards ``common``, that of all tasks."""
        n_tasks = len(self.counts)
        square = self.weight * self.residuals(z).square().sum(-1).double()
        squares = sum_by_task(square[:, None], self.task, n_tasks)[:, 0]
        seen = (self.counts > 0).sum(-1)
        total = sum_by_task(self.weight[:, None], self.task, n_tasks)[:, 0]
        freedom = (total - seen).clamp_min(0)
        if common is None:
            common = squares.sum() / freedom.sum().clamp_min(1e-12)
        return (squares + PRIOR_ROWS * common) / (freedom + PRIOR_ROWS)

    def class_means(self, z: Tensor, common: Tensor | None = None) -> ClassMeans:
        """All means in one table, with what their distances need."""
        means = z.new_zeros(*self.counts.shape, z.shape[1])
        for c, of_class in enumerate(self.means(z)):
            means[of_class.tasks, c] = of_class.means
        return ClassMeans(means, self.counts, self.variance(z, common))

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
        for c in range(self.counts.shape[1]):
            mine, theirs = self.counts[:, c].nonzero().flatten(), others.counts[:, c].nonzero().flatten()
            noise = self._noise(c)[mine, None] + others._noise(c)[theirs]
            share, pairs = 1 / noise.clamp_min(1e-30), (mine[:, None], theirs)
            total[pairs] += share * (_squared(self.means[mine, c], others.means[theirs, c]) - noise)
            precision[pairs] += share
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

    def shifts(self, centre: ClassMeans, is_classification: bool) -> ClassMeans:
        """X_t, by how much all classes of a task are shifted together from where the tasks of ``centre`` have them."""
        middle = (centre.counts[..., None] * centre.means).sum(0)
        middle = middle / centre.counts.sum(0).clamp_min(1e-12)[:, None]  # (C, K)
        share = self.counts if is_classification else F.pad(self.counts[:, :1], (0, self.counts.shape[1] - 1))
        total = share.sum(-1, keepdim=True)  # (T, 1) n_t
        shift = torch.einsum("tc,tck->tk", share / total.clamp_min(1e-12), self.means - middle)
        return ClassMeans(shift[:, None], total, self.variance)

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


def sum_by_task(values: Tensor, task: Tensor, n_tasks: int) -> Tensor:
    """Sum of the rows of every task: (n, K) to (T, K)."""
    return values.new_zeros(n_tasks, values.shape[1]).index_add(0, task, values)


def _squared(first: Tensor, second: Tensor) -> Tensor:
    """(T, I) squared distances of points (T, K) and (I, K)."""
    norms = first.square().sum(-1)[:, None] + second.square().sum(-1)
    return (norms - 2 * first @ second.T).clamp_min(0)
