"""How well a kernel predicts rows that it has not seen: leave-one-out in closed form.

The exact Gaussian version of the model is a least-squares Gaussian process with kernel B_tt' k(x, x'), where
B = (1 - rho) I + rho 11' correlates the tasks' weights: given the others, w_t has the mean r sum_i alpha_ti w_i, the
paper's prior. Its leave-one-out predictions cost one factorisation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from vmtl._utils.cholesky import cholesky, working_precision
from vmtl.data.rows import Rows
from vmtl.inference.features.candidate_kernels import CANDIDATES, centred_kernels

#: Range of the logit scale.
SCALE_RANGE = (0.1, 40.0)
#: The least ridge: what rounding needs.
LEAST_RIDGE = 1e-4


@dataclass(frozen=True)
class Belief:
    """What is believed before any row is seen.

    linear : share of the linear kernels together; pull : strength of that belief, in nats per kernel;
    centre, deviation : of logit rho, log lambda, log bias variance and log temperature.
    """

    linear: float
    pull: float
    centre: tuple[float, float, float, float]
    deviation: tuple[float, float, float, float]

    def shares(self) -> Tensor:
        """(V,) the shares of the kernels: the linear ones alike, the others alike."""
        linear = torch.tensor([candidate.kind == "linear" for candidate in CANDIDATES])
        return torch.where(linear, self.linear / linear.sum(), (1 - self.linear) / (~linear).sum()).double()


CLASSES = Belief(0.4, 0.1, (math.log(9), math.log(0.1), math.log(0.3), math.log(7)), (2.0, 2.5, 2**0.5, 0.5**0.5))
TARGETS = Belief(0.7, 0.3, (math.log(9), math.log(0.5), math.log(0.3), math.log(7)), (1.0, 2.0, 2**0.5, 0.5**0.5))


def belief_of(rows: Rows) -> Belief:
    return CLASSES if rows.is_classification else TARGETS


class Mixture(NamedTuple):
    """What A = B . (sum_v share_v K_v + b) + lambda / weight is made of, B = (1 - rho) [t = t'] + rho."""

    kernels: Tensor  # (V, n, n) K_v
    same_task: Tensor  # (n, n) 1 or 0
    weight: Tensor  # (n,)
    target: Tensor  # (n, C) y


class _SolveWithDiagonal(torch.autograd.Function):
    """A^-1 y and the diagonal of A^-1, with the slopes in shares, rho, b and lambda.

    That in A is -(Q g_s s' + Q diag(g_d) Q), Q = A^-1, in one matrix product; it only says where to go next, and single
    precision is enough for that.
    """

    @staticmethod
    def forward(
        ctx: Any, shares: Tensor, rho: Tensor, bias: Tensor, ridge: Tensor, mixture: Mixture
    ) -> tuple[Tensor, Tensor]:
        kernel = torch.tensordot(shares, mixture.kernels, 1).add_(bias)
        between = mixture.same_task.mul(1 - rho).add_(rho)
        covariance, noise = between * kernel, ridge / mixture.weight
        covariance.diagonal().add_(noise)
        precision = working_precision(float(noise.min()), float(covariance.trace()))
        inverse = torch.cholesky_inverse(cholesky(covariance.to(precision)))
        solved = (inverse @ mixture.target.to(precision)).double()
        ctx.mixture = mixture
        ctx.save_for_backward(kernel, between, inverse, solved)
        return solved, inverse.diagonal().double()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_solved: Tensor, by_diagonal: Tensor) -> tuple[Tensor | None, ...]:
        (kernel, between, inverse, solved), mixture = ctx.saved_tensors, ctx.mixture
        inverse = inverse.float()
        slope = (inverse @ by_solved.float()) @ solved.T.float()
        slope = slope.addmm_(inverse * by_diagonal.float(), inverse).neg_().double()  # (n, n) d / dA
        by_ridge = (slope.diagonal() / mixture.weight).sum()
        by_between = (slope * kernel).flatten()
        by_rho = by_between.sum() - by_between @ mixture.same_task.flatten()
        by_kernel = slope.mul_(between).flatten()
        return mixture.kernels.flatten(1) @ by_kernel, by_rho, by_kernel.sum(), by_ridge, None


def solve_with_diagonal(
    shares: Tensor, rho: Tensor, bias: Tensor, ridge: Tensor, mixture: Mixture
) -> tuple[Tensor, Tensor]:
    """A^-1 y (n, C) and the diagonal of A^-1 (n,), where A and y are those of the ``mixture``."""
    return _SolveWithDiagonal.apply(shares, rho, bias, ridge, mixture)  # type: ignore[no-any-return, no-untyped-call]


@dataclass(frozen=True)
class Evaluation:
    """The score at one point, to be minimised, and what the point says about the model."""

    loss: Tensor  # with its gradient
    correlation: float  # rho
    scale: float  # s0
    bias: float  # prior variance
    noise: float  # deviation


class LeaveOneOutScore:
    """Minus the leave-one-out log likelihood of some rows, plus what departs from the belief.

    A = B . (K + b) + lambda / weight,    a = A^-1 y,    prediction of row n without row n = y_n - a_n / (A^-1)_nn

    where K = the kernel with the shares of the candidates (n, n), b = the bias variance, lambda = the ridge. Weights
    are in units of sum weight^2 / sum weight, so that they add up to the number of rows that count. Classification
    scores softmax(temperature * prediction); regression the Gaussian density of the left-out targets, its scale
    profiled out.
    """

    def __init__(self, rows: Rows, standardise: bool) -> None:
        self.standardise, self.belief, self.unit = standardise, belief_of(rows), rows.unit
        self.weight = rows.weight.double() / self.unit
        self.label = rows.y if rows.is_classification else None
        target = F.one_hot(rows.y, rows.n_classes).double() if rows.is_classification else rows.y.double()[:, None]
        self.target = target - (self.weight[:, None] * target).sum(0) / self.weight.sum()  # (n, C)
        kernels, same_task = centred_kernels(rows.x, self.weight, standardise), rows.task[:, None] == rows.task
        self.mixture = Mixture(kernels, same_task.double(), self.weight, self.target)

    def __call__(self, log_shares: Tensor, numbers: Tensor) -> Evaluation:
        """At the shares softmax(``log_shares``) (V,) and ``numbers`` (4,): logit rho, log lambda, log b and log
        temperature."""
        rho = numbers[0].sigmoid()
        ridge, bias, temperature = numbers[1:].exp()
        solved, diagonal = solve_with_diagonal(log_shares.softmax(0), rho, bias, ridge + LEAST_RIDGE, self.mixture)
        if self.label is not None:
            nll, scale, deviation = self._classify(solved, diagonal, ridge.detach(), temperature, self.label)
        else:
            nll, scale, deviation = self._regress(solved, diagonal, ridge.detach())
        loss = nll + self._surprise_of_shares(log_shares) + self._surprise_of_numbers(numbers)
        return Evaluation(loss, float(rho.detach()), scale, float(bias.detach()), deviation)

    def _classify(
        self, solved: Tensor, diagonal: Tensor, ridge: Tensor, temperature: Tensor, label: Tensor
    ) -> tuple[Tensor, float, float]:
        """Cross-entropy; the logit scale whose softmax is as curved as least squares; no noise."""
        logits = temperature * (self.target - solved / diagonal[:, None])  # (n, C)
        nll = (self.weight * F.cross_entropy(logits, label, reduction="none")).sum()
        p = logits.detach().softmax(-1)
        curvature = (1 - p.square().sum(-1).mean()) / max(1, p.shape[1] - 1)
        scale = (curvature * ridge).clamp_min(1e-6).rsqrt().clamp(*SCALE_RANGE)
        return nll, float(scale), 1.0

    def _regress(self, solved: Tensor, diagonal: Tensor, ridge: Tensor) -> tuple[Tensor, float, float]:
        """-log density up to a constant; scale and noise of the standardised target."""
        n = self.weight.sum()
        square = (self.weight * solved[:, 0].square() / diagonal).sum() / n
        nll = 0.5 * n * square.clamp_min(1e-12).log() - 0.5 * (self.weight * diagonal.log()).sum()
        variance = (self.target * solved).sum().detach() / n
        noise = (variance * (ridge + LEAST_RIDGE) * self.unit).clamp_min(1e-8).sqrt()
        return nll, float(variance.clamp_min(1e-8).sqrt()), float(noise)

    def _surprise_of_shares(self, log_shares: Tensor) -> Tensor:
        """pull V KL(believed shares || shares), in nats."""
        believed = self.belief.shares()
        divergence = (believed * (believed.log() - log_shares.log_softmax(0))).sum()
        return self.belief.pull * len(believed) * divergence

    def _surprise_of_numbers(self, numbers: Tensor) -> Tensor:
        """-log density of the numbers up to a constant."""
        centre = torch.tensor(self.belief.centre, dtype=torch.float64)
        deviation = torch.tensor(self.belief.deviation, dtype=torch.float64)
        return 0.5 * ((numbers - centre) / deviation).square().sum()
