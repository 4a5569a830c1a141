"""Heads: the posterior q(w) of every task's classifier or regressor, and logits from z and w.

w has shape (T, C, K + 1): the last entry multiplies a feature of value 1, the bias.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vmtl._utils.noise import Noise, antithetic
from vmtl.data.rows import Rows
from vmtl.model.distributions import Delta, Gaussian, Posterior
from vmtl.model.encoders import GroupedLinear
from vmtl.model.parameter_groups import ParameterGroups


@dataclass(frozen=True)
class Moments:
    """Mean and variance of every logit with z and w integrated out in closed form."""

    mean: Tensor  # (T, N, C)
    variance: Tensor  # (T, N, C)


class DirectHead(nn.Module):
    """mu and sigma of every weight are parameters; one w for all tasks if ``shared``."""

    amortised = False
    parameter_groups: ClassVar[ParameterGroups] = {"mean": "main", "log_scale": "scale"}

    def __init__(
        self, n_tasks: int, n_outputs: int, size: int, *, stochastic: bool, shared: bool, scale: float
    ) -> None:
        super().__init__()
        self.n_tasks = n_tasks
        shape = (1 if shared else n_tasks, n_outputs, size + 1)
        self.mean = nn.Parameter(torch.zeros(shape))
        self.log_scale = nn.Parameter(torch.full(shape, math.log(scale))) if stochastic else None

    def reset(self, generator: torch.Generator) -> None:
        """Means start at N(0, 0.01^2)."""
        nn.init.normal_(self.mean, std=0.01, generator=generator)

    def forward(self, noise: Noise | None = None) -> Posterior:
        mean = self.mean.expand(self.n_tasks, -1, -1)
        if self.log_scale is None:
            return Delta(mean)
        return Gaussian(mean, self.log_scale.exp().expand_as(mean))  # (T, C, K+1)


class AmortisedHead(nn.Module):
    """VMTL-AC: a network theta maps a summary of a class's training rows to mu_w and sigma_w.

    The summary is the exact mean feature of each class of each task (``class_statistics``), not a running
    mean of batches as in the released code.
    """

    amortised = True
    statistics: Tensor

    def __init__(self, statistics: Tensor, size: int, *, hidden: int, stochastic: bool, dropout: float) -> None:
        super().__init__()
        self.register_buffer("statistics", statistics)  # (T, C, D)
        self.dropout = dropout
        self.layer1 = GroupedLinear(1, statistics.shape[-1], hidden)
        self.layer2 = GroupedLinear(1, hidden, hidden)
        self.mean = GroupedLinear(1, hidden, size + 1)
        self.scale = GroupedLinear(1, hidden, size + 1, bias=-2.0) if stochastic else None

    def forward(self, noise: Noise | None = None) -> Posterior:
        x = self.statistics
        if noise is not None and self.dropout:
            x = x * noise.keep(tuple(x.shape), self.dropout)
        hidden = F.elu(self.layer2(F.elu(self.layer1(x), inplace=True)), inplace=True)
        mean = self.mean(hidden)  # (T, C, K+1)
        if self.scale is None:
            return Delta(mean)
        return Gaussian(mean, F.softplus(self.scale(hidden)).add_(1e-4))


Head = DirectHead | AmortisedHead


def class_statistics(rows: Rows) -> Tensor:
    """What the amortised head reads of each task and class.

    Classification: the mean feature, (T, C, D). Regression: a mean feature says nothing about the
    regressor, so the covariance of features and target, and the mean target, (T, 1, D + 1).
    """
    cells = rows.n_tasks * rows.n_classes
    cell = rows.task * rows.n_classes + rows.label
    total = rows.weight.new_zeros(cells).index_add(0, cell, rows.weight)
    weight = rows.weight / total[cell].clamp_min(torch.finfo(rows.x.dtype).tiny)

    def mean(value: Tensor) -> Tensor:
        return value.new_zeros(cells, value.shape[-1]).index_add(0, cell, weight[:, None] * value)

    centre = mean(rows.x)
    if rows.is_classification:
        return centre.view(rows.n_tasks, rows.n_classes, -1)
    target = mean(rows.y[:, None])
    covariance = mean((rows.x - centre[cell]) * (rows.y[:, None] - target[cell]))
    return torch.cat([covariance, target], -1)[:, None]


def affine(z: Tensor, weight: Tensor) -> Tensor:
    """weight . [z; 1]: (..., N, K) and (..., C, K + 1) to (..., N, C)."""
    return z @ weight[..., :-1].mT + weight[..., -1].unsqueeze(-2)


def sample_logits(q_z: Posterior, q_w: Posterior, noise: Noise, n_z: int, n_w: int) -> Tensor:
    """Draws of the logits: z by reparameterisation, w by local reparameterisation.

    Given z, w . [z; 1] is Gaussian with mean mu_w . [z; 1] and variance sigma_w^2 . [z^2; 1], so M = ``n_w``
    draws of logits replace sampled weight matrices: the law of one fresh w per row. The result is
    (L * M, T, N, C), with L = ``n_z``; a delta needs one draw only. The partner of an antithetic draw of z
    has the opposite noise of w. Training takes ``fused.sampled_loss`` where both are Gaussian.
    """
    if isinstance(q_z, Gaussian):
        z = q_z.rsample(antithetic(noise.halves(n_z, *q_z.mean.shape), n_z))  # (L, T, N, K)
    else:
        z, n_z = q_z.mean[None], 1
    mean = affine(z, q_w.mean)  # (L, T, N, C)
    if not q_w.stochastic:
        return mean
    spread = affine(z.square(), q_w.variance).sqrt()
    half = noise.halves(n_w, *mean.shape, pairs=2)
    return torch.addcmul(mean, spread, antithetic(antithetic(half, n_w), n_z, axis=1)).flatten(0, 1)


def logit_moments(q_z: Posterior, q_w: Posterior) -> Moments:
    """Closed-form moments of w . [z; 1], z and w independent.

    mean = mu_z . mu_w, variance = mu_z^2 . s_w^2 + s_z^2 . mu_w^2 + s_z^2 . s_w^2 (the bias adds its own).
    Classes share z; the covariance between classes that this causes is dropped, which overstates the mean
    cross-entropy. With K = 4, unit means and posterior scales of 0.1, 0.5 and 1 the bias is 0.002, 0.04 and 0.12
    nats per row; regression has one output and no bias.
    """
    mean = affine(q_z.mean, q_w.mean)
    if not q_z.stochastic:
        return Moments(mean, affine(q_z.mean.square(), q_w.variance))
    spread = q_z.variance
    variance = affine(q_z.mean.square() + spread, q_w.variance) + spread @ q_w.mean[..., :-1].square().mT
    return Moments(mean, variance)
