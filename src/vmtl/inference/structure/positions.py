"""Where the tasks lie: their representations compared class by class, with the noise of few rows taken out.

Eq. 9-10 of the paper let a task look at the representations of another one within a class. Here the same question,
whose representations resemble mine, is answered once for all tasks. The mean representation of a class in a task is

    mu_tc = sum_n weight_n psi_c(y_n) z_n / n_tc,    n_tc = sum_n weight_n psi_c(y_n)^2

where z = ``rows.x`` (n, K); psi = the indicators of the classes, or in a regression 1 and the task's own standardised
target, so that mu_t2 is how a representation moves with the target. Two tasks are

    D_ti = sum_c p_c (|mu_tc - mu_ic|^2 - v_t / n_tc - v_i / n_ic),    p_c ~ 1 / (v_t / n_tc + v_i / n_ic)

apart, v_t the variance of z within the classes of task t. The mean of few rows is far from everything: what is
subtracted is the expected square of that noise, so that two tasks of one population are at distance 0 on average,
however few rows they have. Classes that only one of the two has seen do not count. D is in units of the variance
within classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl.data.rows import Rows

#: Tables of pure noise from which the noise of the distances is known.
NOISE_DRAWS = 32
#: Rows whose weight in their own class mean is larger say nothing about the variance within classes.
MAX_LEVERAGE = 0.9
#: Rows that a task's own variance must have to count as much as the variance of all tasks.
PRIOR_ROWS = 5.0


@dataclass(frozen=True)
class TaskPositions:
    """Points, one a task, whose squared distances are those of the representations without their noise."""

    points: Tensor  # (T, Q), no column where no structure rises above the noise
    gram: Tensor  # (T, T) the inner products of ``points``
    noise: Tensor  # (S, T, T) draws of what few rows add to ``gram``

    def distances(self) -> Tensor:
        """(T, T) squared distances."""
        return squared_distances(self.gram)

    def draws(self) -> Tensor:
        """(S, T, T) squared distances as other rows of the same tasks might have shown them."""
        values, vectors = torch.linalg.eigh(self.gram + self.noise)
        gram = (vectors * values.clamp_min(0).unsqueeze(-2)) @ vectors.mT
        return squared_distances(gram)


def squared_distances(gram: Tensor) -> Tensor:
    """|p_t - p_i|^2 from inner products (..., T, T)."""
    norms = gram.diagonal(dim1=-2, dim2=-1)
    return (norms.unsqueeze(-1) + norms.unsqueeze(-2) - 2 * gram).clamp_min(0)


def infer_positions(rows: Rows, seed: int) -> TaskPositions:
    """Positions from the principal coordinates of D that rise above its noise.

    The Gram matrix -1/2 J D J, J = I - 1/T, is a signal of low rank plus noise. Rows drawn from the residuals, which
    know nothing of tasks, show how large eigenvalues of pure noise become: below that edge an eigenvector says
    nothing, above it the eigenvalue l of signal and noise is sqrt(l^2 - edge^2) without the noise, as for a symmetric
    matrix with independent noise (Benaych-Georges and Nadakuditi, 2011).
    """
    cells = _Cells.of(rows)
    gram = cells.gram(rows.x.double())
    noise = cells.noise_grams(rows.x.double(), seed)
    largest = torch.linalg.eigvalsh(noise)[:, -1]
    edge = (largest.mean() + largest.std()).clamp_min(0)
    values, vectors = torch.linalg.eigh(gram)
    values, vectors = values.flip(0), vectors.flip(1)
    signal = values > edge
    kept = (values[signal].square() - edge.square()).sqrt()
    points = vectors[:, signal] * kept.sqrt()
    return TaskPositions(points, points @ points.T, noise)


@dataclass(frozen=True)
class _Cells:
    """The classes of the tasks: which rows belong to them, and how many."""

    design: Tensor  # (n, C) psi of every row
    task: Tensor  # (n,)
    weight: Tensor  # (n,)
    counts: Tensor  # (T, C) n_tc

    @classmethod
    def of(cls, rows: Rows) -> _Cells:
        weight = rows.weight.double() / rows.unit
        if rows.is_classification:
            design = F.one_hot(rows.y, rows.n_classes).double()
        else:
            total = _sum(weight[:, None], rows.task, rows.n_tasks)
            mean = _sum((weight * rows.y.double())[:, None], rows.task, rows.n_tasks) / total
            target = rows.y.double() - mean[rows.task, 0]
            scale = (weight @ target.square() / weight.sum()).sqrt().clamp_min(1e-12)
            design = torch.stack([torch.ones_like(target), target / scale], 1)
        counts = _sum(weight[:, None] * design.square(), rows.task, rows.n_tasks)
        return cls(design, rows.task, weight, counts)

    def means(self, z: Tensor) -> Tensor:
        """(T, C, K) mu_tc."""
        n_tasks, n_cells = self.counts.shape
        means = z.new_empty(n_tasks, n_cells, z.shape[1])
        for c in range(n_cells):  # of (n, K) each, instead of one table of (n, C, K)
            share = (self.weight * self.design[:, c])[:, None]
            means[:, c] = _sum(share * z, self.task, n_tasks)
        return means / self.counts.clamp_min(1e-12)[..., None]

    def residuals(self, z: Tensor) -> Tensor:
        """(n, K) what the means leave."""
        means, rest = self.means(z), z.clone()
        for c in range(self.counts.shape[1]):
            rest -= self.design[:, c, None] * means[self.task, c]
        return rest

    def variance(self, means: Tensor, square: Tensor) -> Tensor:
        """(T,) v_t, the variance within the classes of a task, drawn towards that of all tasks.

        The columns of psi are orthogonal within a task, so that what the ``means`` (T, C, K) leave of the squared norms
        (n,) of all rows is sum_n weight_n |z_n|^2 - sum_c n_tc |mu_tc|^2.
        """
        n_tasks = len(self.counts)
        total = _sum(torch.stack([self.weight * square, self.weight], 1), self.task, n_tasks)  # (T, 2)
        left = (total[:, 0] - (self.counts * means.square().sum(-1)).sum(-1)).clamp_min(0)
        seen = (self.counts > 0).sum(-1)
        freedom = (total[:, 1] - seen).clamp_min(0)
        common = left.sum() / freedom.sum().clamp_min(1e-12)
        return (left + PRIOR_ROWS * common) / (freedom + PRIOR_ROWS)

    def gram(self, z: Tensor) -> Tensor:
        """(T, T) -1/2 J D J of the distances D, in units of the variance within classes."""
        means, square = self.means(z), z.square().sum(-1)
        variance = self.variance(means, square)
        unit = variance.mean()
        if unit <= 1e-12 * square.mean():  # nothing varies within classes: distances have no unit
            return z.new_zeros(2 * self.counts.shape[:1])
        distance, precision = z.new_zeros(2 * self.counts.shape[:1]), z.new_zeros(2 * self.counts.shape[:1])
        for c in range(self.counts.shape[1]):  # of (T, T) each
            inner = means[:, c] @ means[:, c].T
            noise = variance / self.counts[:, c].clamp_min(1e-12)
            noise = noise[:, None] + noise
            both = (self.counts[:, c, None] > 0) & (self.counts[:, c] > 0)
            share = torch.where(both, 1 / noise.clamp_min(1e-30), 0.0)
            distance += share * (squared_distances(inner) - noise)
            precision += share
        distance = (distance / precision.clamp_min(1e-30) / unit).fill_diagonal_(0)
        centre = torch.eye(len(distance), dtype=z.dtype) - 1 / len(distance)
        return -0.5 * centre @ distance @ centre

    def noise_grams(self, z: Tensor, seed: int) -> Tensor:
        """(S, T, T) the same of rows drawn from the residuals of all tasks."""
        cells = self.counts[self.task].clamp_min(1e-12)  # (n, C)
        leverage = self.weight * (self.design.square() / cells).sum(-1)  # of a row in its own means
        usable = (leverage < MAX_LEVERAGE).nonzero().flatten()
        if not len(usable):
            return z.new_zeros(NOISE_DRAWS, *(2 * self.counts.shape[:1]))
        pool = self.residuals(z)[usable] / (1 - leverage[usable, None]).sqrt()
        generator = torch.Generator().manual_seed(seed)
        draws = torch.randint(len(pool), (NOISE_DRAWS, len(z)), generator=generator)
        return torch.stack([self.gram(pool[draw]) for draw in draws])


def _sum(values: Tensor, task: Tensor, n_tasks: int) -> Tensor:
    """Sum of the rows of every task: (n, K) to (T, K)."""
    return values.new_zeros(n_tasks, values.shape[1]).index_add(0, task, values)
