"""How well a kernel predicts rows that it has not seen: leave-one-out in closed form, from one factorisation."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from vmtl._utils.cholesky import cholesky, working_precision
from vmtl.data.rows import Rows
from vmtl.inference.features.candidate_kernels import centred_kernels
from vmtl.inference.features.score import LEAST_RIDGE, Evaluation, Score


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


class LeaveOneOutScore(Score):
    """Minus the leave-one-out log likelihood of some rows, plus what departs from the belief.

    A = B . (K + b) + lambda / weight,    a = A^-1 y,    prediction of row n without row n = y_n - a_n / (A^-1)_nn

    where K = the kernel with the shares of the candidates (n, n), b = the bias variance, lambda = the ridge. Weights
    are in units of sum weight^2 / sum weight, so that they add up to the number of rows that count. Classification
    scores softmax(temperature * prediction); regression the Gaussian density of the left-out targets, its scale
    profiled out.
    """

    def __init__(self, rows: Rows, standardise: bool) -> None:
        super().__init__(rows, standardise)
        kernels = centred_kernels(rows.x, self.weight, standardise)
        self.mixture = Mixture(kernels, self.same_task, self.weight, self.target)

    def __call__(self, *place: Tensor) -> Evaluation:
        """At log shares (V,) and numbers (4,)."""
        log_shares, numbers = place
        rho = numbers[0].sigmoid()
        ridge, bias, temperature = numbers[1:].exp()
        solved, diagonal = solve_with_diagonal(log_shares.softmax(0), rho, bias, ridge + LEAST_RIDGE, self.mixture)
        nll = self._nll(solved, diagonal, temperature)
        loss = nll + self.surprise_of_shares(log_shares) + self.surprise_of_numbers(numbers)
        known = (value.detach() for value in (solved, diagonal, ridge, temperature))
        scale, noise = self.read_scales(*known)
        return Evaluation(loss, float(rho.detach()), scale, float(bias.detach()), noise)

    def _nll(self, solved: Tensor, diagonal: Tensor, temperature: Tensor) -> Tensor:
        """Cross-entropy, or minus the log density up to a constant."""
        if self.label is not None:
            logits = self.left_out_logits(solved, diagonal, temperature)
            return (self.weight * F.cross_entropy(logits, self.label, reduction="none")).sum()
        n = self.weight.sum()
        square = (self.weight * solved[:, 0].square() / diagonal).sum() / n
        return 0.5 * n * square.clamp_min(1e-12).log() - 0.5 * (self.weight * diagonal.log()).sum()
