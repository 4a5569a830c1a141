"""The expected loss over L draws of z and M of the logits given z (Eq. 11): the hot path of training.

1/(L M) sum_l sum_m loss(w^m . [z^l; 1])

where
    z^l = ``q_z`` (T, N, K), L = ``n_z``, in antithetic pairs m + u and m - u with u = s e
    w^m = ``q_w`` (T, C, K + 1), M = ``n_w``, by local reparameterisation

``sample_logits`` followed by a likelihood says the same in two lines; it is the reference that this file is tested
against. Here no tensor of all draws is ever stored: the forward pass goes through the draws of z one pair at a time,
and keeps of each pair only gradients in the moments of its logits. docs/expected-loss.md derives the formulas.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from vmtl._utils.noise import Noise
from vmtl._utils.types import AutogradContext
from vmtl.paper.distributions import Gaussian
from vmtl.paper.likelihoods.logit_draws import Loss, loss_over_draws, task_chunks
from vmtl.paper.logits import fused_affine


def sampled_loss(q_z: Gaussian, q_w: Gaussian, y: Tensor, noise: Noise, n_z: int, n_w: int, loss: Loss) -> Tensor:
    """The mean of ``loss`` over the draws of ``sample_logits``, for every row: (T, N)."""
    shape = q_z.mean.shape  # (T, N, K)
    eps_z = noise.halves(n_z, *shape)
    eps_w = noise.halves(n_w, n_z, *shape[:-1], q_w.mean.shape[1], pairs=2)
    return _SampledLoss.apply(  # type: ignore[no-any-return, no-untyped-call]
        q_z.mean, q_z.scale, q_w.mean, q_w.variance, y, eps_z, eps_w, (n_z, n_w), loss
    )


class _Posteriors(NamedTuple):
    """The parameters of q(z) and q(w), of some tasks."""

    m: Tensor  # (T, N, K) mean of z
    s: Tensor  # (T, N, K) scale of z
    w: Tensor  # (T, C, K + 1) mean of w
    v: Tensor  # (T, C, K + 1) variance of w

    def of(self, tasks: slice) -> _Posteriors:
        return _Posteriors(*(value[tasks] for value in self))


class _LogitGradients(NamedTuple):
    """Gradients in the logits' mean g and variance h; of a pair, the sum and the difference of its two draws."""

    g_sum: Tensor  # (T, N, C) over all draws
    g_difference: Tensor  # (P, T, N, C) of every pair
    h_sum: Tensor  # (P, T, N, C)
    h_difference: Tensor  # (P, T, N, C)


class _Context(AutogradContext, Protocol):
    n_draws: int


class _SampledLoss(torch.autograd.Function):
    """Mean over L draws of z and M draws of the logits given z, its gradients partly computed in the forward pass."""

    @staticmethod
    def forward(
        ctx: _Context,
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
        n_pairs, shape = len(eps_z), (*m.shape[:-1], w.shape[1])  # (T, N, C)
        total, g_sum = torch.zeros_like(m[..., 0]), m.new_zeros(shape)
        pairs = m.new_empty(3, n_pairs, *shape)  # g_difference, h_sum and h_difference of every pair
        for tasks in task_chunks(len(m), 2 * max(m[0].numel(), draws[1] * g_sum[0].numel())):
            q = _Posteriors(m, s, w, v).of(tasks)
            at_mean = fused_affine(q.m, q.w)  # (T, N, C) logits at the mean of z
            for pair in range(n_pairs):
                has_partner = pair + n_pairs < draws[0]
                mean, std = _pair_moments(q, q.s * eps_z[pair, tasks], at_mean, has_partner)
                value, g, d_std = loss_over_draws(loss, mean, std, eps_w[:, pair, tasks, None], draws[1], y[tasks])
                h = d_std.div_(std).mul_(0.5)  # d std / d variance = 1 / (2 std)
                total[tasks] += value.sum(1)
                g_sum[tasks] += g.sum(1)
                for kept, part in zip(pairs, (_difference(g), h.sum(1), _difference(h)), strict=True):
                    kept[pair, tasks] = part
        ctx.save_for_backward(m, s, w, v, eps_z, g_sum, pairs)
        ctx.n_draws = n_draws = draws[0] * draws[1]
        return total / n_draws

    @staticmethod
    @once_differentiable
    def backward(ctx: _Context, grad: Tensor) -> tuple[Tensor | None, ...]:
        m, s, w, v, eps_z, g_sum, pairs = ctx.saved_tensors
        gradients = [torch.empty_like(value) for value in (m, s, w, v)]
        grad = (grad / ctx.n_draws).unsqueeze(-1)
        for tasks in task_chunks(len(m), 2 * m[0].numel()):
            logit_gradients = _LogitGradients(grad[tasks] * g_sum[tasks], *(grad[tasks] * pairs[:, :, tasks]))
            parts = _parameter_gradients(_Posteriors(m, s, w, v).of(tasks), eps_z[:, tasks], logit_gradients)
            for gradient, part in zip(gradients, parts, strict=True):
                gradient[tasks] = part
        return *gradients, None, None, None, None, None


def _pair_moments(q: _Posteriors, u: Tensor, at_mean: Tensor, has_partner: bool) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of the logits given z = m + u, and z = m - u if it has a partner: (T, P, N, C).

    The partner's deviation is negative, for it also takes the opposite noise of w.
    """
    signs = 2 if has_partner else 1
    tilt = u @ q.w[..., :-1].mT
    mean = torch.stack([at_mean + tilt, at_mean - tilt][:signs], 1)
    z = u.new_empty(len(u), signs, *u.shape[1:])
    torch.add(q.m, u, out=z[:, 0])
    if has_partner:
        torch.sub(q.m, u, out=z[:, 1])
    std = fused_affine(z.square_().flatten(1, 2), q.v).sqrt_().view_as(mean)
    if has_partner:
        std[:, 1].neg_()
    return mean, std


def _parameter_gradients(
    q: _Posteriors, eps_z: Tensor, logits: _LogitGradients
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """dm, ds, dw and dv of the mean and scale of z, and of the mean and variance of w.

    dm = g_sum W + 2 m * (h_sum V) + 2 sum u * (h_difference V)
    du = g_difference W + 2 m * (h_difference V) + 2 u * (h_sum V),   ds = sum e * du
    dw = g_sum' m + sum g_difference' u
    dv = h_sum' m^2 + sum h_sum' u^2 + 2 sum h_difference' (m * u),   sums over pairs
    """
    slopes, slope_variances = q.w[..., :-1], q.v[..., :-1]  # (T, C, K)
    h_total, twice_m = logits.h_sum.sum(0), 2 * q.m
    dw, dv = torch.bmm(logits.g_sum.mT, q.m), torch.bmm(h_total.mT, q.m.square())
    dm = torch.bmm(logits.g_sum, slopes).addcmul_(twice_m, torch.bmm(h_total, slope_variances))
    ds = torch.zeros_like(q.s)
    for e, g, h_sum, h in zip(eps_z, logits.g_difference, logits.h_sum, logits.h_difference, strict=True):
        u = q.s * e
        dw.baddbmm_(g.mT, u)
        dv.baddbmm_(h.mT, twice_m * u).baddbmm_(h_sum.mT, u.square())
        across, along = torch.bmm(h, slope_variances), torch.bmm(h_sum, slope_variances)
        dm.addcmul_(u, across, value=2)
        ds.addcmul_(e, torch.bmm(g, slopes).addcmul_(twice_m, across).addcmul_(u, along, value=2))
    bias_w, bias_v = logits.g_sum.sum(1).unsqueeze(-1), h_total.sum(1).unsqueeze(-1)
    return dm, ds, torch.cat([dw, bias_w], -1), torch.cat([dv, bias_v], -1)


def _difference(pair: Tensor) -> Tensor:
    """First minus second of a pair on axis 1, or the only one."""
    return pair[:, 0] - pair[:, 1] if pair.shape[1] == 2 else pair[:, 0]
