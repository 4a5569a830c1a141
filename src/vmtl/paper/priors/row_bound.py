"""The convex bound for every row of a batch against components of its own, in cache-sized pieces.

bound_n = sum_i weight_ni KL(N(m_n, s_n^2) || N(mu_ni, sigma_ni^2))

where
    m_n, s_n = ``q`` (B, K)
    mu_ni, sigma_ni = row ``place``_n of ``components`` (U, I, K): rows that repeat share theirs
    weight_ni = ``weights`` (B, I)
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from vmtl._utils.types import AutogradContext
from vmtl.paper.distributions import Gaussian

#: Numbers of one table that are worked on at once: few enough for the cache.
COMPONENTS_AT_ONCE = 250_000


class _RowBound(torch.autograd.Function):
    """sum_i weight_ni KL(N(m_n, s_n^2) || component_i of row n), with gradients that the forward pass computes.

    With p = 1 / v the precision of a component, v = sigma^2, and d = mu - m its distance, KL_ni is
    1/2 sum_k [ s^2 p + d^2 p + log v - log s^2 - 1 ], d/dm = -sum_i weight p d, d/ds = sum_i weight (s p - 1 / s),
    d/dweight = KL_ni, d/dmu = weight p d, d/dsigma = weight (1 - (s^2 + d^2) p) / sigma.
    """

    @staticmethod
    def forward(
        ctx: AutogradContext, m: Tensor, s: Tensor, weights: Tensor, mean: Tensor, scale: Tensor, place: Tensor
    ) -> Tensor:
        half_entropy = 0.5 * m.shape[-1] + s.log().sum(-1)  # (B,)
        rest = scale.log().sum(-1)[place] - half_entropy[:, None]  # (B, I)
        precision = scale.square().reciprocal_()  # (U, I, K)
        d_mean, d_scale = torch.empty_like(m), torch.empty_like(s)
        variance = s.square()
        for start, stop in _pieces(m, mean):
            members, weight = place[start:stop], weights[start:stop, None]  # (b,), (b, 1, I)
            p = precision.index_select(0, members)  # (b, I, K)
            d = mean.index_select(0, members).sub_(m[start:stop, None])
            rest[start:stop] += torch.bmm(p, variance[start:stop, :, None])[..., 0].mul_(0.5)
            torch.bmm(weight, p, out=d_scale[start:stop, None])
            p.mul_(d)
            torch.bmm(weight, p, out=d_mean[start:stop, None])
            rest[start:stop] += p.mul_(d).sum(-1).mul_(0.5)
        total = weights.sum(-1, keepdim=True)
        inputs = (m, s, weights, mean, scale, place) if any(ctx.needs_input_grad[3:5]) else ()
        ctx.save_for_backward(rest, d_mean.neg_(), d_scale.mul_(s).sub_(total / s), *inputs)
        return (weights * rest).sum(-1)

    @staticmethod
    @once_differentiable
    def backward(ctx: AutogradContext, grad: Tensor) -> tuple[Tensor | None, ...]:
        rest, d_mean, d_scale, *inputs = ctx.saved_tensors
        d_components = _component_gradients(grad, *inputs) if inputs else (None, None)
        grad = grad.unsqueeze(-1)
        return grad * d_mean, grad * d_scale, grad * rest, *d_components, None


def _pieces(m: Tensor, mean: Tensor) -> list[tuple[int, int]]:
    """First and last row (not included) of every piece of the batch."""
    step = max(1, COMPONENTS_AT_ONCE // mean[0].numel())
    return [(start, min(start + step, len(m))) for start in range(0, len(m), step)]


def _component_gradients(
    grad: Tensor, m: Tensor, s: Tensor, weights: Tensor, mean: Tensor, scale: Tensor, place: Tensor
) -> tuple[Tensor, Tensor]:
    """d/dmu and d/dsigma of sum_n grad_n bound_n: (U, I, K) each."""
    d_mean, d_scale = torch.zeros_like(mean), torch.zeros_like(scale)
    share = (grad[:, None] * weights)[..., None]  # (B, I, 1)
    variance = s.square()
    for start, stop in _pieces(m, mean):
        members = place[start:stop]
        inverse = scale.index_select(0, members).reciprocal_()  # (b, I, K)
        d = mean.index_select(0, members).sub_(m[start:stop, None])
        by_scale = share[start:stop] * inverse
        pull = by_scale * inverse  # weight p
        d_mean.index_add_(0, members, pull * d)
        spread = d.square_().add_(variance[start:stop, None])
        d_scale.index_add_(0, members, by_scale.sub_(pull.mul_(inverse).mul_(spread)))
    return d_mean, d_scale


def row_bound(q: Gaussian, components: Gaussian, weights: Tensor, place: Tensor) -> Tensor:
    """The bound of every row: (B,).

    where q (B, K); components (U, I, K), row ``place`` (B,) of them belongs to each row of q; weights (B, I). Same
    value and gradients as ``forms.bound``.
    """
    return _RowBound.apply(  # type: ignore[no-any-return, no-untyped-call]
        q.mean, q.scale, weights, components.mean, components.scale, place
    )
