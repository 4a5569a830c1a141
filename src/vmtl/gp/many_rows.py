"""The posterior mode of many rows, without a table of all pairs of them: linear in rows and tasks.

The weights of the outputs are W = s L v, L L' = B, with v ~ N(0, I): what all tasks share and what each has of its own.
Their most probable value is found by L-BFGS on all rows at once. The features are principal components, so the second
derivative is nearly diagonal, and dividing by it makes some tens of iterations enough whatever the scales.

Rows are only asked for sums, in double precision: it does not matter in which parts and where they are added up.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl._utils.minimise import minimise
from vmtl._utils.types import AutogradContext
from vmtl.data.rows import Rows, Sums
from vmtl.gp.latent_prior import CONSTANT, LatentPrior

#: Iterations at most, and steps that L-BFGS remembers.
ITERATIONS, HISTORY = 200, 8
#: A typical curvature p (1 - p) of the softmax.
CURVATURE = 0.1


def solve_many_rows(rows: Rows, prior: LatentPrior, noise: float) -> Tensor:
    """Slopes and, last, level of every task and output at the largest posterior density: (T, C, K + 1).

    ``noise`` is the deviation of a regression's noise. Of two classes only the difference of the logits matters, whose
    prior has twice the variance.
    """
    rows = rows.cpu()
    binary = rows.is_classification and rows.n_classes == 2
    outputs, twice = (1, 2**0.5) if binary else (rows.n_classes, 1.0)
    weights = _Search(rows, prior, outputs, twice, noise).run()
    return torch.cat([-weights / 2, weights / 2], 1) if binary else weights


def squared_features(rows: Rows) -> Sums:
    """sum_n weight_n [z_n; 1]^2 of every task: (T, K + 1)."""
    told = torch.zeros(rows.n_tasks, rows.x.shape[1] + 1, dtype=torch.float64)
    for block in rows.by_blocks:
        weight = block.weight.double()[:, None]  # (G, 1, M)
        told[:, :-1].index_add_(0, block.task, (weight @ block.x.double().square())[:, 0])
        told[:, -1].index_add_(0, block.task, weight.sum((1, 2)))
    return (told,)


@dataclass(frozen=True)
class DataTerm:
    """Minus the log likelihood of rows under some weights, and its slopes in them."""

    weights: Tensor  # (T, C, K + 1); C = 1 of two classes, whose logits differ by this output
    noise: float
    absent: Tensor | None  # (T, C) classes that a task has no rows of

    def __call__(self, rows: Rows) -> Sums:
        """(), (T, C, K + 1)."""
        loss, slope = torch.zeros((), dtype=torch.float64), torch.zeros_like(self.weights)
        for block in rows.by_blocks:
            z, w = block.x.double(), self.weights[block.task]  # (G, M, K), (G, C, K + 1)
            f = torch.baddbmm(w[..., None, :, -1], z, w[..., :-1].mT)  # (G, M, C)
            if self.absent is not None:
                f = f.masked_fill(self.absent[block.task][:, None], -torch.inf)
            value, by_f = self._of_outputs(f, block.y, rows.is_classification)
            weight = block.weight.double()
            loss += (weight * value).sum()
            by_f = weight[..., None] * by_f
            slope[:, :, :-1].index_add_(0, block.task, by_f.mT @ z)
            slope[:, :, -1].index_add_(0, block.task, by_f.sum(1))
        return loss, slope

    def _of_outputs(self, f: Tensor, y: Tensor, is_classification: bool) -> tuple[Tensor, Tensor]:
        """Loss (G, M) and its slope (G, M, C) in the outputs f (G, M, C)."""
        if not is_classification:
            off = (f - y[..., None]) / self.noise
            return 0.5 * off[..., 0].square(), off / self.noise
        if f.shape[-1] == 1:
            sign = torch.where(y == 1, 1.0, -1.0)[..., None]  # (G, M, 1)
            return F.softplus(-sign * f)[..., 0], -sign * torch.sigmoid(-sign * f)
        log_p = f.log_softmax(-1)
        return -log_p.gather(-1, y[..., None])[..., 0], log_p.exp() - F.one_hot(y, f.shape[-1])


class _DataLoss(torch.autograd.Function):
    """The data term of all rows, with the slopes that come with it."""

    @staticmethod
    def forward(ctx: AutogradContext, weights: Tensor, rows: Rows, noise: float) -> Tensor:
        loss: Tensor
        absent = ~rows.class_mask if rows.is_classification and weights.shape[1] > 1 else None
        loss, slope = rows.total(DataTerm(weights.detach(), noise, absent))
        ctx.save_for_backward(slope)
        return loss

    @staticmethod
    def backward(ctx: AutogradContext, slope: Tensor) -> tuple[Tensor, None, None]:
        return slope * ctx.saved_tensors[0], None, None


class _Search:
    """The unknowns, in units in which the second derivative is about 1."""

    def __init__(self, rows: Rows, prior: LatentPrior, outputs: int, twice: float, noise: float) -> None:
        self.rows, self.prior, self.outputs, self.twice, self.noise = rows, prior, outputs, twice, noise
        curvature = CURVATURE if rows.is_classification else noise**-2
        (told,) = rows.total(squared_features)  # (T, K + 1)
        told = curvature * twice**2 * told
        with_constant = torch.cat([told[:, :-1], CONSTANT * told[:, -1:]], 1)
        slopes = prior.scale**2 * prior.covariance.root_squares(with_constant)  # (R, K + 1)
        self.unit_of_slopes = (1 + slopes).rsqrt()[:, None]
        self.unit_of_shared = (1 + prior.shared_level**2 * told[:, -1].sum()).rsqrt()
        self.unit_of_levels = (1 + prior.task_level**2 * told[:, -1:]).rsqrt()

    def run(self) -> Tensor:
        roots, _, size = self.unit_of_slopes.shape
        shapes = (roots, self.outputs, size), (self.outputs,), (self.rows.n_tasks, self.outputs)
        unknown = [torch.zeros(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
        minimise(
            unknown,
            lambda: self.loss(*unknown),
            iterations=ITERATIONS,
            history=HISTORY,
            least_slope=1e-3,
            least_change=1e-7,
        )
        return self.weights(*(value.detach() for value in unknown))

    def weights(self, v: Tensor, shared: Tensor, levels: Tensor) -> Tensor:
        """(T, C, K + 1) of the unknowns: slopes v (R, C, K + 1), that of the constant feature last, the shared level (C,)
        and the tasks' levels (T, C)."""
        prior = self.prior
        slopes = self.twice * prior.scale * prior.covariance.root(self.unit_of_slopes * v)
        level = prior.shared_level * self.unit_of_shared * shared
        level = self.twice * (level + prior.task_level * self.unit_of_levels * levels)
        level = level + CONSTANT**0.5 * slopes[..., -1]
        return torch.cat([slopes[..., :-1], level[..., None]], -1)

    def loss(self, v: Tensor, shared: Tensor, levels: Tensor) -> Tensor:
        """Minus the log posterior density, up to a constant."""
        penalty = (self.unit_of_slopes * v).square().sum() + (self.unit_of_shared * shared).square().sum()
        penalty = 0.5 * (penalty + (self.unit_of_levels * levels).square().sum())
        weights = self.weights(v, shared, levels)
        data: Tensor = _DataLoss.apply(weights, self.rows, self.noise)  # type: ignore[no-untyped-call]
        total: Tensor = penalty + data
        return total
