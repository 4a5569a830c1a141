"""The posterior of many rows, without a table of all pairs of them: linear in rows and tasks.

The weights of the outputs are W = s L v, L L' = B, with v ~ N(0, I): what all tasks share and what each has of its own.
Their most probable value is found by L-BFGS on all rows at once. The features are principal components, so the second
derivative is nearly diagonal, and dividing by it makes some tens of iterations enough whatever the scales.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl.data.rows import Rows
from vmtl.inference.exact.output_prior import OutputPrior

#: Tasks of one block have at most this many times the rows of its smallest.
BLOCK_RATIO = 1.5
#: Iterations at most, and steps that L-BFGS remembers.
ITERATIONS, HISTORY = 200, 8
#: A typical curvature p (1 - p) of the softmax.
CURVATURE = 0.1


@dataclass(frozen=True)
class Block:
    """Tasks of about as many rows, padded with rows of weight 0."""

    task: Tensor  # (G,)
    z: Tensor  # (G, M, K)
    y: Tensor  # (G, M)
    weight: Tensor  # (G, M)


def task_blocks(rows: Rows) -> list[Block]:
    """All rows, by tasks of about as many of them."""
    counts, task = torch.bincount(rows.task, minlength=rows.n_tasks).sort(descending=True)
    order = rows.task.argsort(stable=True)
    first = torch.zeros(rows.n_tasks, dtype=torch.long)
    sizes = torch.bincount(rows.task, minlength=rows.n_tasks)
    first[1:] = sizes.cumsum(0)[:-1]
    edges = [0]
    while edges[-1] < len(counts):
        edges.append(int((counts * BLOCK_RATIO >= counts[edges[-1]]).sum()))
    blocks = []
    for start, stop in pairwise(edges):
        members, width = task[start:stop], int(counts[start])
        place = torch.arange(width).expand(len(members), width)
        filled = place < sizes[members, None]
        number = order[(first[members, None] + place).clamp_max(len(order) - 1)]
        weight = torch.where(filled, rows.weight[number], 0.0)
        blocks.append(Block(members, rows.x[number], rows.y[number], weight))
    return blocks


def solve_iteratively(rows: Rows, prior: OutputPrior, noise: float) -> Tensor:
    """Slopes and, last, level of every task and output at the largest posterior density: (T, C, K + 1).

    ``noise`` is the deviation of a regression's noise. Of two classes only the difference of the logits matters, whose
    prior has twice the variance.
    """
    rows = rows.cpu()
    binary = rows.is_classification and rows.n_classes == 2
    outputs, twice = (1, 2**0.5) if binary else (rows.n_classes, 1.0)
    search = _Search(rows, prior, outputs, twice, noise)
    weights = search.run()
    return torch.cat([-weights / 2, weights / 2], 1) if binary else weights


class _Search:
    """The unknowns, in units in which the second derivative is about 1."""

    def __init__(self, rows: Rows, prior: OutputPrior, outputs: int, twice: float, noise: float) -> None:
        self.rows, self.prior, self.twice, self.noise = rows, prior, twice, noise
        self.blocks, self.outputs = task_blocks(rows), outputs
        curvature = CURVATURE if rows.is_classification else noise**-2
        told = rows.x.new_zeros(rows.n_tasks, rows.x.shape[1] + 1)  # (T, K + 1)
        told[:, :-1].index_add_(0, rows.task, rows.weight[:, None] * rows.x.square())
        told[:, -1] = rows.task_weight
        told *= curvature * twice**2
        slopes = prior.scale**2 * prior.covariance.root_squares(told[:, :-1])  # (R, K)
        self.unit_of_slopes = (1 + slopes).rsqrt()[:, None]
        self.unit_of_shared = (1 + prior.shared_level**2 * told[:, -1].sum()).rsqrt()
        self.unit_of_levels = (1 + prior.task_level**2 * told[:, -1:]).rsqrt()

    def run(self) -> Tensor:
        n_rows, size = len(self.unit_of_slopes), self.rows.x.shape[1]
        v = self.rows.x.new_zeros(n_rows, self.outputs, size).requires_grad_()
        shared = self.rows.x.new_zeros(self.outputs).requires_grad_()
        levels = self.rows.x.new_zeros(self.rows.n_tasks, self.outputs).requires_grad_()
        unknown = [v, shared, levels]
        optimiser = torch.optim.LBFGS(
            unknown,
            max_iter=ITERATIONS,
            history_size=HISTORY,
            tolerance_grad=1e-3,
            tolerance_change=1e-7,
            line_search_fn="strong_wolfe",
        )

        def loss() -> Tensor:
            optimiser.zero_grad()
            value = self.loss(*unknown)
            value.backward()
            return value

        with torch.enable_grad():
            optimiser.step(loss)
        return self.weights(*(value.detach() for value in unknown))

    def weights(self, v: Tensor, shared: Tensor, levels: Tensor) -> Tensor:
        """(T, C, K + 1) of the unknowns: slopes v (R, C, K), the shared level (C,), the tasks' levels (T, C)."""
        prior = self.prior
        slopes = self.twice * prior.scale * prior.covariance.root(self.unit_of_slopes * v)
        level = prior.shared_level * self.unit_of_shared * shared
        level = self.twice * (level + prior.task_level * self.unit_of_levels * levels)
        return torch.cat([slopes, level[..., None]], -1)

    def loss(self, v: Tensor, shared: Tensor, levels: Tensor) -> Tensor:
        """Minus the log posterior density, up to a constant."""
        weights = self.weights(v, shared, levels)
        penalty = (self.unit_of_slopes * v).square().sum() + (self.unit_of_shared * shared).square().sum()
        total: Tensor = 0.5 * (penalty + (self.unit_of_levels * levels).square().sum())
        for block in self.blocks:
            w = weights[block.task]  # (G, C, K + 1)
            f = torch.baddbmm(w[..., None, :, -1], block.z, w[..., :-1].mT)  # (G, M, C)
            total = total + (block.weight * self._row_loss(f, block.y)).sum()
        return total

    def _row_loss(self, f: Tensor, y: Tensor) -> Tensor:
        if not self.rows.is_classification:
            return 0.5 * ((f[..., 0] - y) / self.noise).square()
        if self.outputs == 1:
            return F.softplus(torch.where(y == 1, -f[..., 0], f[..., 0]))
        return F.cross_entropy(f.flatten(0, 1), y.flatten(), reduction="none").view_as(y)
