"""The expected loss over logits with given moments: z and w integrated out, M draws of the logits.

E loss ~ 1/M sum_m loss(mean + sqrt(variance) e_m)

where
    mean, variance = ``Moments`` (T, N, C)
    M = ``draws``, antithetic
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from vmtl._utils.noise import Noise
from vmtl._utils.types import AutogradContext
from vmtl.model.likelihoods.logit_draws import Loss, loss_over_draws, task_chunks
from vmtl.model.logits import Moments


def moment_loss(moments: Moments, y: Tensor, noise: Noise, draws: int, loss: Loss) -> Tensor:
    """The mean of ``loss`` over draws of the logits, for every row: (T, N)."""
    eps = noise.halves(draws, *moments.mean.shape)
    std = moments.variance.clamp_min(1e-12).sqrt()
    return _MomentLoss.apply(moments.mean, std, y, eps, draws, loss)  # type: ignore[no-any-return, no-untyped-call]


class _MomentLoss(torch.autograd.Function):
    """Mean over draws of loss(mean + std e), with gradients that the forward pass computes."""

    @staticmethod
    def forward(
        ctx: AutogradContext, mean: Tensor, std: Tensor, y: Tensor, eps: Tensor, draws: int, loss: Loss
    ) -> Tensor:
        value, d_mean, d_std = torch.empty_like(mean[..., 0]), torch.empty_like(mean), torch.empty_like(mean)
        for tasks in task_chunks(len(mean), draws * mean[0].numel()):
            parts = loss_over_draws(loss, mean[tasks, None], std[tasks, None], eps[:, tasks, None], draws, y[tasks])
            value[tasks], d_mean[tasks], d_std[tasks] = (part[:, 0] for part in parts)
        ctx.save_for_backward(d_mean.div_(draws), d_std.div_(draws))
        return value / draws

    @staticmethod
    @once_differentiable
    def backward(ctx: AutogradContext, grad: Tensor) -> tuple[Tensor | None, ...]:
        d_mean, d_std = ctx.saved_tensors
        grad = grad.unsqueeze(-1)
        return grad * d_mean, grad * d_std, None, None, None, None
