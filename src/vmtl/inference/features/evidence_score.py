"""How probable the targets are under a kernel: the score by which shares and the relevance of columns are refined.

Left-out rows tell well which kinds of kernels suit, but a number for every column can be fitted to them. The evidence
pays for what it fits, and columns have a prior under which they count alike unless they earn it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from vmtl._utils.cholesky import working_precision
from vmtl.data.rows import Rows
from vmtl.inference.features.score import LEAST_RIDGE, Evaluation, Score
from vmtl.inference.features.weighed_kernel import WeighedKernel
from vmtl.inference.least_squares import evidence

#: Nats that a column must earn to count e times as much, or as little, as it is believed to.
SURPRISE = 4.0
#: Where the absolute value of a log relevance is rounded off.
CORNER = 0.05


class _KernelEvidence(torch.autograd.Function):
    """Minus the log evidence of A = B . (k + b) + lambda / weight, with slopes in k, rho, b and lambda; A^-1 y and the
    diagonal of A^-1 beside it."""

    @staticmethod
    def forward(
        ctx: Any, kernel: Tensor, rho: Tensor, bias: Tensor, ridge: Tensor, score: EvidenceScore
    ) -> tuple[Tensor, Tensor, Tensor]:
        between = score.same_task.mul(1 - rho).add_(rho)
        kernel = kernel.double().add(bias)
        covariance, noise = between * kernel, ridge / score.weight
        covariance.diagonal().add_(noise)
        precision = working_precision(float(noise.min()), float(covariance.trace()))
        found = evidence(covariance.to(precision), score.target, score.weight, ridge)
        slope = found.by_covariance.double()
        by_ridge = (slope.diagonal() / score.weight).sum() + found.by_ridge
        by_between = slope * kernel
        by_rho = by_between.sum() - (by_between * score.same_task).sum()
        by_kernel = slope.mul_(between)
        ctx.save_for_backward(by_kernel.float(), by_rho, by_kernel.sum(), by_ridge)
        solved, diagonal = found.solved.double(), found.diagonal.double()
        ctx.mark_non_differentiable(solved, diagonal)
        return -found.value.double(), solved, diagonal

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        by_kernel, by_rho, by_bias, by_ridge = ctx.saved_tensors
        return -grad.float() * by_kernel, -grad * by_rho, -grad * by_bias, -grad * by_ridge, None


class EvidenceScore(Score):
    """Minus the log evidence of least squares, all outputs together counting as one, plus what departs from the belief.

    The log relevance of a column has a Laplace prior: most columns count alike, and a few may count far more or
    less, if they earn it.
    """

    def __init__(self, rows: Rows, standardise: bool) -> None:
        super().__init__(rows, standardise)
        self.kernel = WeighedKernel(rows.x.double(), self.weight / self.weight.sum(), standardise, self.numbers)

    def __call__(self, *place: Tensor) -> Evaluation:
        """At log shares (V,), numbers (4,) and log relevances (D,); the temperature only says how logits would be
        scaled."""
        log_shares, numbers, log_relevance = place
        rho = numbers[0].sigmoid()
        ridge, bias, temperature = numbers[1:].exp()
        kernel = self.kernel(log_shares.softmax(0), log_relevance.exp())
        nll, solved, diagonal = _KernelEvidence.apply(kernel, rho, bias, ridge + LEAST_RIDGE, self)  # type: ignore[no-untyped-call]
        scale, noise = self.read_scales(solved, diagonal, ridge.detach(), temperature.detach())
        unlike = (log_relevance.square() + CORNER**2).sqrt().sum()
        loss = nll + self.surprise_of_shares(log_shares) + self.surprise_of_numbers(numbers[:3]) + SURPRISE * unlike
        return Evaluation(loss, float(rho.detach()), scale, float(bias.detach()), noise)
