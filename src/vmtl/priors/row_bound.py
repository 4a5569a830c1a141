"""The convex bound for every row of a batch, against a prior that passes no gradient, in one pass."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from vmtl.distributions import Gaussian

#: Numbers of one table that are worked on at once: few enough for the cache.
CHUNK = 250_000


class _RowBound(torch.autograd.Function):
    """sum_i weight_ni KL(N(m_n, s_n^2) || component_i of row n), with the gradients made on the way.

    With p = 1 / v the precision of a component and d = mu - m its distance, KL_ni is
    1/2 sum_k [ s^2 p + d^2 p + log v - log s^2 - 1 ], d/dm = -sum_i weight p d, d/ds = sum_i weight (s p - 1 / s),
    d/dweight = KL_ni.
    """

    @staticmethod
    def forward(ctx: Any, m: Tensor, s: Tensor, weights: Tensor, mean: Tensor, scale: Tensor, place: Tensor) -> Tensor:
        half_entropy = 0.5 * m.shape[-1] + s.log().sum(-1)  # (B,)
        rest = scale.log().sum(-1)[place] - half_entropy[:, None]  # (B, I)
        precision = scale.square().reciprocal_()  # (U, I, K)
        d_mean, d_scale = torch.empty_like(m), torch.empty_like(s)
        variance = s.square()
        for rows in torch.arange(len(m), device=m.device).split(max(1, CHUNK // mean[0].numel())):
            start, stop = int(rows[0]), int(rows[-1]) + 1
            own, weight = place[start:stop], weights[start:stop, None]  # (b,), (b, 1, I)
            p = precision.index_select(0, own)  # (b, I, K)
            d = mean.index_select(0, own).sub_(m[start:stop, None])
            rest[start:stop] += torch.bmm(p, variance[start:stop, :, None])[..., 0].mul_(0.5)
            torch.bmm(weight, p, out=d_scale[start:stop, None])
            p.mul_(d)
            torch.bmm(weight, p, out=d_mean[start:stop, None])
            rest[start:stop] += p.mul_(d).sum(-1).mul_(0.5)
        total = weights.sum(-1, keepdim=True)
        ctx.save_for_backward(rest, d_mean.neg_(), d_scale.mul_(s).sub_(total / s))
        return (weights * rest).sum(-1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        rest, d_mean, d_scale = ctx.saved_tensors
        grad = grad.unsqueeze(-1)
        return grad * d_mean, grad * d_scale, grad * rest, None, None, None


def row_bound(q: Gaussian, components: Gaussian, weights: Tensor, place: Tensor) -> Tensor:
    """The bound of every row: (B,).

    where q (B, K); components (U, I, K) are constants, row ``place`` (B,) of them belongs to each row of q;
    weights (B, I). Same value and gradients as ``mixture_kl.bound``.
    """
    return _RowBound.apply(  # type: ignore[no-any-return, no-untyped-call]
        q.mean, q.scale, weights, components.mean, components.scale, place
    )
