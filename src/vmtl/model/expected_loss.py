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

from vmtl._utils.noise import Noise
from vmtl.model.distributions import Gaussian

#: Numbers of one table that are worked on at once: few enough for the cache, enough to hide the overhead of a call.
CHUNK = 400_000


def affine(z: Tensor, weight: Tensor) -> Tensor:
    """weight . [z; 1]: (T, N, K) and (T, C, K + 1) to (T, N, C)."""
    return torch.baddbmm(weight[..., -1:].mT, z, weight[..., :-1].mT)


class Loss(Protocol):
    """A loss of every row, with its derivative."""

    def value_and_gradient(self, logits: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """(S, ..., N, C) and (..., N) to the sum over draws (..., N) and the gradient; ``logits`` may be reused."""


def task_chunks(n_tasks: int, numbers: int) -> list[slice]:
    """Tasks in pieces, each of about CHUNK numbers if one task has ``numbers`` of them."""
    step = max(1, CHUNK // max(1, numbers))
    return [slice(start, start + step) for start in range(0, n_tasks, step)]


def drawn_loss(
    loss: Loss, mean: Tensor, std: Tensor, eps: Tensor, draws: int, y: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """sum_m loss(mean + std e_m), and its gradients in ``mean`` and ``std``.

    where e = [eps, -eps], the first ``draws`` of them; mean, std (T, P, N, C); eps (h, T, 1, N, C), the same for
    all P; y (T, N). d_mean = sum_m g_m and d_std = sum_m g_m e_m with g_m the gradient in the logits of draw m.
    """
    step = max(1, CHUNK // (draws * mean[..., 0, :].numel()))
    if step < mean.shape[-2]:
        parts = zip(mean.split(step, -2), std.split(step, -2), eps.split(step, -2), y.split(step, -1), strict=True)
        values, d_means, d_stds = zip(*(drawn_loss(loss, a, b, e, draws, own) for a, b, e, own in parts), strict=True)
        return torch.cat(values, -1), torch.cat(d_means, -2), torch.cat(d_stds, -2)
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
        value, d_mean, d_std = torch.empty_like(mean[..., 0]), torch.empty_like(mean), torch.empty_like(mean)
        for own in task_chunks(len(mean), draws * mean[0].numel()):
            found = drawn_loss(loss, mean[own, None], std[own, None], eps[:, own, None], draws, y[own])
            value[own], d_mean[own], d_std[own] = (part[:, 0] for part in found)
        ctx.save_for_backward(d_mean.div_(draws), d_std.div_(draws))
        return value / draws

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        d_mean, d_std = ctx.saved_tensors
        grad = grad.unsqueeze(-1)
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
        shape = (*m.shape[:-1], w.shape[1])  # (T, N, C)
        total = torch.zeros_like(m[..., 0])
        g_sum, parts = m.new_zeros(shape), m.new_empty(3, len(eps_z), *shape)  # of every pair: g_d, h_s, h_d
        for own in task_chunks(len(m), 2 * max(m[0].numel(), draws[1] * g_sum[0].numel())):
            base = affine(m[own], w[own])
            for pair in range(len(eps_z)):
                signs = 2 if pair + len(eps_z) < draws[0] else 1
                mean, std = _pair_moments(m[own], s[own] * eps_z[pair, own], base, w[own], v[own], signs)
                found = drawn_loss(loss, mean, std, eps_w[:, pair, own, None], draws[1], y[own])
                value, d_mean, d_variance = *found[:2], found[2].div_(std).mul_(0.5)
                total[own] += value.sum(1)
                g_sum[own] += d_mean.sum(1)
                parts[0, pair, own], parts[2, pair, own] = _difference(d_mean), _difference(d_variance)
                parts[1, pair, own] = d_variance.sum(1)
        ctx.save_for_backward(m, s, w, v, eps_z, g_sum, parts)
        ctx.draws = draws[0] * draws[1]
        return total / (draws[0] * draws[1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        m, s, w, v, eps_z, g_sum, parts = ctx.saved_tensors
        dm, ds, dw, dv = (torch.empty_like(value) for value in (m, s, w, v))
        grad = (grad / ctx.draws).unsqueeze(-1)
        for own in task_chunks(len(m), 2 * m[0].numel()):
            g, (g_d, h_s, h_d) = grad[own] * g_sum[own], grad[own] * parts[:, :, own]
            found = _pair_gradients(m[own], s[own], w[own], v[own], eps_z[:, own], g, g_d, h_s, h_d)
            dm[own], ds[own], dw[own], dv[own] = found
        return dm, ds, dw, dv, None, None, None, None, None


def _pair_moments(m: Tensor, u: Tensor, base: Tensor, w: Tensor, v: Tensor, signs: int) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of the logits given z = m + u, and z = m - u if there are two: (T, P, N, C).

    ``base`` is m.W; the partner's deviation is negative, for it also takes the opposite noise of w.
    """
    tilt = u @ w[..., :-1].mT
    mean = torch.stack([base + tilt, base - tilt][:signs], 1)
    z = m.new_empty(len(m), signs, *m.shape[1:])
    torch.add(m, u, out=z[:, 0])
    if signs == 2:
        torch.sub(m, u, out=z[:, 1])
    std = affine(z.square_().flatten(1, 2), v).sqrt_().view_as(mean)
    if signs == 2:
        std[:, 1].neg_()
    return mean, std


def _pair_gradients(
    m: Tensor, s: Tensor, w: Tensor, v: Tensor, eps_z: Tensor, g_s: Tensor, g_d: Tensor, h_s: Tensor, h_d: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """dm, ds, dw and dv by the formulas of ``_SampledLoss``; g_s is summed over the pairs, the others are not."""
    slopes, slopes_v = w[..., :-1], v[..., :-1]  # (T, C, K)
    h_sum, twice = h_s.sum(0), 2 * m
    dw, dv = torch.bmm(g_s.mT, m), torch.bmm(h_sum.mT, m.square())
    dm = torch.bmm(g_s, slopes).addcmul_(twice, torch.bmm(h_sum, slopes_v))
    ds = torch.zeros_like(s)
    for pair, e in enumerate(eps_z):
        u = s * e
        dw.baddbmm_(g_d[pair].mT, u)
        dv.baddbmm_(h_d[pair].mT, twice * u).baddbmm_(h_s[pair].mT, u.square())
        across, along = torch.bmm(h_d[pair], slopes_v), torch.bmm(h_s[pair], slopes_v)
        dm.addcmul_(u, across, value=2)
        ds.addcmul_(e, torch.bmm(g_d[pair], slopes).addcmul_(twice, across).addcmul_(u, along, value=2))
    bias_w, bias_v = g_s.sum(1).unsqueeze(-1), h_sum.sum(1).unsqueeze(-1)
    return dm, ds, torch.cat([dw, bias_w], -1), torch.cat([dv, bias_v], -1)


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
