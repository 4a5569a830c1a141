"""Where the tasks lie: their representations compared class by class, with the noise of few rows taken out.

Eq. 9-10 of the paper let a task look at the representations of another one within a class. Here the same question,
whose representations resemble mine, is answered once for all tasks. The mean representation of a class in a task is

    mu_tc = sum_n weight_n psi_c(y_n) z_n / n_tc,    n_tc = sum_n weight_n psi_c(y_n)^2

where z = ``rows.x`` (n, K); psi = the indicators of the classes, or in a regression 1 and the task's own standardised
target, so that mu_t2 is how a representation moves with the target. How far two tasks are apart says
``vmtl.inference.structure.class_means``; D is in units of v, the variance of z within classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl.data.rows import Rows
from vmtl.inference.structure.class_means import ClassMeans

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
    edge: float = 0.0  # how large an eigenvalue of pure noise may be

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
    cells = Cells.of(rows)
    gram = cells.gram(rows.x.double())
    noise = cells.noise_grams(rows.x.double(), seed)
    largest = torch.linalg.eigvalsh(noise)[:, -1]
    edge = (largest.mean() + largest.std()).clamp_min(0)
    values, vectors = torch.linalg.eigh(gram)
    values, vectors = values.flip(0), vectors.flip(1)
    signal = values > edge
    kept = (values[signal].square() - edge.square()).sqrt()
    points = vectors[:, signal] * kept.sqrt()
    return TaskPositions(points, points @ points.T, noise, float(edge))


@dataclass(frozen=True)
class Cells:
    """The classes of the tasks: which rows belong to them, and how many."""

    design: Tensor  # (n, C) psi of every row
    task: Tensor  # (n,)
    weight: Tensor  # (n,)
    counts: Tensor  # (T, C) n_tc
    target_scale: float = 1.0  # deviation of a regression's targets within tasks

    @classmethod
    def of(cls, rows: Rows, target_scale: float | None = None) -> Cells:
        """The cells of these rows; their targets in units of ``target_scale`` where that is known already."""
        weight = rows.weight.double() / rows.unit
        scale = 1.0
        if rows.is_classification:
            design = F.one_hot(rows.y, rows.n_classes).double()
        else:
            total = _sum(weight[:, None], rows.task, rows.n_tasks)
            mean = _sum((weight * rows.y.double())[:, None], rows.task, rows.n_tasks) / total
            target = rows.y.double() - mean[rows.task, 0]
            own = (weight @ target.square() / weight.sum()).sqrt().clamp_min(1e-12)
            scale = float(own) if target_scale is None else target_scale
            design = torch.stack([torch.ones_like(target), target / scale], 1)
        counts = _sum(weight[:, None] * design.square(), rows.task, rows.n_tasks)
        return cls(design, rows.task, weight, counts, scale)

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

    def variance(self, z: Tensor, common: Tensor | None = None) -> Tensor:
        """(T,) v_t, the variance within the classes of a task, drawn towards ``common``, that of all tasks."""
        n_tasks = len(self.counts)
        square = _sum((self.weight * self.residuals(z).square().sum(-1))[:, None], self.task, n_tasks)[:, 0]
        seen = (self.counts > 0).sum(-1)
        total = _sum(self.weight[:, None], self.task, n_tasks)[:, 0]
        freedom = (total - seen).clamp_min(0)
        if common is None:
            common = square.sum() / freedom.sum().clamp_min(1e-12)
        return (square + PRIOR_ROWS * common) / (freedom + PRIOR_ROWS)

    def class_means(self, z: Tensor, common: Tensor | None = None) -> ClassMeans:
        """The means with what their distances need."""
        return ClassMeans(self.means(z), self.counts, self.variance(z, common))

    def gram(self, z: Tensor) -> Tensor:
        """(T, T) -1/2 J D J of the distances D, in units of the variance within classes."""
        known = self.class_means(z)
        unit = known.variance.mean()
        if unit <= 1e-12 * z.square().sum(-1).mean():  # nothing varies within classes: distances have no unit
            return z.new_zeros(2 * self.counts.shape[:1])
        distance = (known.distances(known) / unit).fill_diagonal_(0)
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
