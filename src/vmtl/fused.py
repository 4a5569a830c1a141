"""Expected losses over draws of z and w whose gradients are made on the way: the hot path of training.

``sample_logits`` followed by a likelihood says the same in two lines; it is the reference these functions are
tested against. Here no tensor of all draws is ever stored: the forward pass goes through the draws of z one
antithetic pair at a time, and keeps of each pair only the gradients with respect to its logits' moments.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from vmtl.distributions import Gaussian
from vmtl.noise import Noise

#: Logits that are worked on at once: few enough for the cache, enough to keep the overhead of a call small.
CHUNK = 1_500_000


class Loss(Protocol):
    """A loss of every row, with its derivative."""

    def value_and_gradient(self, logits: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """(S, ..., N, C) and (..., N) to the sum over draws (..., N) and the gradient; ``logits`` may be reused."""


def drawn_loss(
    loss: Loss, mean: Tensor, std: Tensor, eps: Tensor, draws: int, y: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """sum_m loss(mean + std e_m), and its gradients in ``mean`` and ``std``.

    where e = [eps, -eps], the first ``draws`` of them; mean, std (T, P, N, C); eps (h, T, 1, N, C), the same for
    all P; y (T, N). d_mean = sum_m g_m and d_std = sum_m g_m e_m with g_m the gradient in the logits of draw m.
    """
    step = max(1, CHUNK // (draws * mean[0].numel()))
    if len(mean) > step:
        parts = [
            drawn_loss(loss, mean[t : t + step], std[t : t + step], eps[:, t : t + step], draws, y[t : t + step])
            for t in range(0, len(mean), step)
        ]
        value, d_mean, d_std = (torch.cat(part) for part in zip(*parts, strict=True))
        return value, d_mean, d_std
    half, paired = len(eps), draws - len(eps)
    logits = mean.new_empty(draws, *mean.shape)
    torch.addcmul(mean, std, eps, out=logits[:half])
    torch.addcmul(mean, std, eps[:paired], value=-1, out=logits[half:])
    value, gradient = loss.value_and_gradient(logits, y[:, None].expand(mean.shape[:-1]))
    d_mean = gradient.sum(0)
    tilt = gradient[:half]
    tilt[:paired] -= gradient[half:]
    return value, d_mean, tilt.mul_(eps).sum(0)


class _MomentLoss(torch.autograd.Function):
    """Mean over draws of loss(mean + std e)."""

    @staticmethod
    def forward(ctx: Any, mean: Tensor, std: Tensor, y: Tensor, eps: Tensor, draws: int, loss: Loss) -> Tensor:
        value, d_mean, d_std = drawn_loss(loss, mean[:, None], std[:, None], eps[:, :, None], draws, y)
        ctx.save_for_backward(d_mean[:, 0], d_std[:, 0])
        ctx.draws = draws
        return value[:, 0] / draws

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        d_mean, d_std = ctx.saved_tensors
        grad = (grad / ctx.draws).unsqueeze(-1)
        return grad * d_mean, grad * d_std, None, None, None, None


class _SampledLoss(torch.autograd.Function):
    """Mean over L draws of z and M draws of the logits given z.

    A pair of draws is z = m + u and z = m - u with u = s e. Its logits have the means m.W + u.W and m.W - u.W
    and the variances z^2.V, W and V the means and variances of w. With g, h (T, N, C) the gradients of a draw in
    the mean and the variance of its logits, and sums g_s, h_s and differences g_d, h_d over the two of a pair,

    dm = sum g_s W + 2 m * sum h_s V + 2 sum u * (h_d V)
    du = g_d W + 2 m * (h_d V) + 2 u * (h_s V),   ds = sum e * du
    dW = (sum g_s)' m + sum g_d' u
    dV = (sum h_s)' m^2 + sum h_s' u^2 + 2 sum h_d' (m * u)

    so that only differences need a matrix product per pair for the means. A draw without a partner (odd L) has
    g_d = g_s and h_d = h_s.
    """

    @staticmethod
    def forward(
        ctx: Any,
        m: Tensor,
        s: Tensor,
        w: Tensor,
        v: Tensor,
        y: Tensor,
        eps_z: Tensor,
        eps_w: Tensor,
        draws: tuple[int, int],
        loss: Loss,
    ) -> Tensor:
        slopes, offset = w[..., :-1].mT, w[..., -1:].mT  # (T, K, C), (T, 1, C)
        slopes_v, offset_v = v[..., :-1].mT, v[..., -1:].mT
        base = torch.baddbmm(offset, m, slopes)  # (T, N, C)
        total, g_sum = torch.zeros_like(m[..., 0]), torch.zeros_like(base)
        parts = base.new_empty(3, len(eps_z), *base.shape)  # g_d, h_s, h_d of every pair
        for pair, e in enumerate(eps_z):
            signs = 2 if pair + len(eps_z) < draws[0] else 1
            u = s * e
            tilt = torch.bmm(u, slopes)
            mean = torch.stack([base + tilt, base - tilt][:signs], 1)  # (T, P, N, C)
            z = m.new_empty(len(m), signs, *m.shape[1:])
            torch.add(m, u, out=z[:, 0])
            if signs == 2:
                torch.sub(m, u, out=z[:, 1])
            std = torch.baddbmm(offset_v, z.square_().flatten(1, 2), slopes_v).sqrt_().view_as(mean)
            if signs == 2:
                std[:, 1].neg_()  # the partner also has the opposite noise of w
            value, d_mean, d_std = drawn_loss(loss, mean, std, eps_w[:, pair].unsqueeze(2), draws[1], y)
            d_variance = d_std.div_(std).mul_(0.5)
            total += value.sum(1)
            g_sum += d_mean.sum(1)
            parts[0, pair], parts[2, pair] = _difference(d_mean), _difference(d_variance)
            torch.sum(d_variance, 1, out=parts[1, pair])
        ctx.save_for_backward(m, s, w, v, eps_z, g_sum, parts)
        ctx.draws = draws[0] * draws[1]
        return total / (draws[0] * draws[1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        m, s, w, v, eps_z, g_sum, parts = ctx.saved_tensors
        slopes, slopes_v = w[..., :-1], v[..., :-1]  # (T, C, K)
        grad = (grad / ctx.draws).unsqueeze(-1)
        g_sum, (g_d, h_s, h_d) = grad * g_sum, grad * parts
        h_sum = h_s.sum(0)
        dw, dv = torch.empty_like(w), torch.empty_like(v)
        dw[..., -1], dv[..., -1] = g_sum.sum(1), h_sum.sum(1)
        d_slopes, d_slopes_v = torch.bmm(g_sum.mT, m), torch.bmm(h_sum.mT, m.square())
        twice = 2 * m
        dm = torch.bmm(g_sum, slopes).addcmul_(twice, torch.bmm(h_sum, slopes_v))
        ds = torch.zeros_like(s)
        for pair, e in enumerate(eps_z):
            u = s * e
            d_slopes.baddbmm_(g_d[pair].mT, u)
            d_slopes_v.baddbmm_(h_d[pair].mT, twice * u).baddbmm_(h_s[pair].mT, u.square())
            across, along = torch.bmm(h_d[pair], slopes_v), torch.bmm(h_s[pair], slopes_v)
            dm.addcmul_(u, across, value=2)
            du = torch.bmm(g_d[pair], slopes).addcmul_(twice, across).addcmul_(u, along, value=2)
            ds.addcmul_(e, du)
        dw[..., :-1], dv[..., :-1] = d_slopes, d_slopes_v
        return dm, ds, dw, dv, None, None, None, None, None


def _difference(pair: Tensor) -> Tensor:
    """First minus second of a pair on axis 1, or the only one."""
    return pair[:, 0] - pair[:, 1] if pair.shape[1] == 2 else pair[:, 0]


def sampled_loss(q_z: Gaussian, q_w: Gaussian, y: Tensor, noise: Noise, n_z: int, n_w: int, loss: Loss) -> Tensor:
    """(T, N): the mean of ``loss`` over the draws of ``sample_logits``."""
    shape = q_z.mean.shape  # (T, N, K)
    eps_z = noise.halves(n_z, *shape)
    eps_w = noise.halves(n_w, n_z, *shape[:-1], q_w.mean.shape[1], pairs=2)
    return _SampledLoss.apply(  # type: ignore[no-any-return, no-untyped-call]
        q_z.mean, q_z.scale, q_w.mean, q_w.variance, y, eps_z, eps_w, (n_z, n_w), loss
    )


def moment_loss(mean: Tensor, variance: Tensor, y: Tensor, noise: Noise, draws: int, loss: Loss) -> Tensor:
    """(T, N): the mean of ``loss`` over draws of logits with these moments (T, N, C)."""
    eps = noise.halves(draws, *mean.shape)
    return _MomentLoss.apply(mean, variance.clamp_min(1e-12).sqrt(), y, eps, draws, loss)  # type: ignore[no-any-return, no-untyped-call]
