"""Heads: the posterior q(w) of every task's classifier or regressor (Eq. 3 and 8).

q(w_t) = prod_c N(mu_tc, diag(sigma_tc^2))

where
    w_tc = ``mean``, ``scale`` (T, C, K + 1): the last entry multiplies a feature of value 1, the bias; without a bias
        (T, C, K)
    C = classes, 1 in regression

``DirectHead`` learns mu and sigma themselves; ``AmortisedHead`` (VMTL-AC) infers them from a class's training rows.

Where we depart from the paper: the amortised head reads the exact mean feature of a class, and in regression, where a
mean feature says nothing about the regressor, the covariance of features and target. Deterministic methods have
``Delta`` posteriors.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vmtl._utils.noise import Noise
from vmtl.data.rows import Rows
from vmtl.paper.distributions import Delta, Gaussian, Posterior
from vmtl.paper.encoders import GroupedLinear
from vmtl.paper.noisy_encoders import NoisyMlp
from vmtl.paper.settings import Settings


class DirectHead(nn.Module):
    """mu and sigma of every weight are parameters; one w for all tasks if ``shared``.

    sigma is exp of ``log_scale``, or with the link "softplus" that of ``rho``: it matters where they decay.
    """

    amortised = False

    def __init__(self, shape: tuple[int, int, int], settings: Settings, *, stochastic: bool, shared: bool) -> None:
        """``shape`` is (T, C, K + 1), or (T, C, K) without a bias."""
        super().__init__()
        self.n_tasks, n_outputs, size = shape
        self.deviation, scale = settings.initial_w_deviation, settings.initial_w_scale
        own = (1 if shared else self.n_tasks, n_outputs, size)
        self.mean = nn.Parameter(torch.zeros(own))
        self.log_scale = self.rho = None
        if stochastic and settings.width_link == "exp":
            self.log_scale = nn.Parameter(torch.full(own, math.log(scale)))
        elif stochastic:
            self.rho = nn.Parameter(torch.full(own, math.log(math.expm1(scale))))

    def reset(self, generator: torch.Generator) -> None:
        """Means start at N(0, deviation^2)."""
        nn.init.normal_(self.mean, std=self.deviation, generator=generator)

    def forward(self, noise: Noise | None = None) -> Posterior:
        mean = self.mean.expand(self.n_tasks, -1, -1)
        if self.log_scale is not None:
            return Gaussian(mean, self.log_scale.exp().expand_as(mean))  # (T, C, K+1)
        if self.rho is not None:
            return Gaussian(mean, F.softplus(self.rho).expand_as(mean))
        return Delta(mean)


class AmortisedHead(nn.Module):
    """VMTL-AC: a network theta maps a summary of a class's training rows to mu_w and sigma_w.

    The summary is the exact mean feature of each class of each task (``class_statistics``), not a running
    mean of batches as in the released code.
    """

    amortised = True
    statistics: Tensor

    def __init__(self, statistics: Tensor, size: int, settings: Settings, *, stochastic: bool) -> None:
        super().__init__()
        self.register_buffer("statistics", statistics)  # (T, C, D)
        hidden, self.dropout = settings.hidden_dim, settings.head_dropout
        self.layer1 = GroupedLinear(1, statistics.shape[-1], hidden)
        self.layer2 = GroupedLinear(1, hidden, hidden)
        self.mean = GroupedLinear(1, hidden, size)
        self.scale = GroupedLinear(1, hidden, size, bias=-2.0) if stochastic else None

    def forward(self, noise: Noise | None = None) -> Posterior:
        x = self.statistics
        if noise is not None and self.dropout:
            x = x * noise.keep(tuple(x.shape), self.dropout)
        hidden = F.elu(self.layer2(F.elu(self.layer1(x), inplace=True)), inplace=True)
        mean = self.mean(hidden)  # (T, C, K+1)
        if self.scale is None:
            return Delta(mean)
        return Gaussian(mean, F.softplus(self.scale(hidden)).add_(1e-4))


class NoisyAmortisedHead(nn.Module):
    """The generator of the authors' VMTL-AC: networks with a noisy last layer, the bias from one of width 1."""

    amortised = True
    statistics: Tensor

    def __init__(self, statistics: Tensor, latent_dim: int, settings: Settings, *, stochastic: bool) -> None:
        super().__init__()
        self.register_buffer("statistics", statistics)  # (T, C, D)
        self.dropout, self.stochastic = settings.head_dropout, stochastic
        self.slopes = NoisyMlp(1, statistics.shape[-1], settings.hidden_dim, latent_dim)
        self.bias = NoisyMlp(1, statistics.shape[-1], 1, 1) if settings.bias else None

    def forward(self, noise: Noise | None = None) -> Posterior:
        x = self.statistics
        if noise is not None and self.dropout:
            x = x * noise.keep(tuple(x.shape), self.dropout)
        parts: list[Gaussian] = [network(x) for network in (self.slopes, self.bias) if network is not None]
        mean = torch.cat([part.mean for part in parts], -1)  # (T, C, K+1)
        return Gaussian(mean, torch.cat([part.scale for part in parts], -1)) if self.stochastic else Delta(mean)


Head = DirectHead | AmortisedHead | NoisyAmortisedHead


def class_statistics(rows: Rows) -> Tensor:
    """The input of an amortised head for each task and class.

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
