"""Encoders: from the columns of a row to the posterior q(z | x) of Eq. 3, shared by all tasks or one per task.

q(z_tn | x_tn) = N(mean(x_tn), diag(scale(x_tn)^2))

where
    x_tn = ``x`` (T, N, D)
    mean, scale = those of the posterior that ``forward`` returns, (T, N, K)

An encoder is an affine ``first`` layer followed by ``posterior``, because an affine layer commutes with the attention
average of the prior of z. ``groups`` is the length of the leading axis of every parameter: 1 when shared, T when each
task has its own.

The paper's network is ``MlpEncoder``.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vmtl._utils.noise import Noise
from vmtl.paper.distributions import Delta, Gaussian, Posterior


def pick(parameter: Tensor, task: Tensor | None) -> Tensor:
    """The slice of a (G, ...) parameter for each task: shared if G = 1, else by ``task`` (all if None)."""
    if len(parameter) == 1:
        return parameter.squeeze(0)
    return parameter if task is None else parameter[task]


class GroupedLinear(nn.Module):
    """x W + b with one (W, b) per group: (T, N, in) to (T, N, out)."""

    def __init__(
        self, groups: int, size_in: int, size_out: int, *, bias: float | None = None, deviation: float | None = None
    ) -> None:
        super().__init__()
        self.start, self.deviation = bias, deviation
        self.weight = nn.Parameter(torch.zeros(groups, size_in, size_out))
        self.bias = nn.Parameter(torch.zeros(groups, 1, size_out))

    def reset(self, generator: torch.Generator) -> None:
        """Uniform on +-1 / sqrt(in), as torch.nn.Linear; the bias too unless its initial value is given.

        With a ``deviation`` both are normal instead.
        """
        if self.deviation is not None:
            nn.init.normal_(self.weight, std=self.deviation, generator=generator)
            nn.init.normal_(self.bias, std=self.deviation, generator=generator)
            return
        reach = 1 / math.sqrt(self.weight.shape[1])
        nn.init.uniform_(self.weight, -reach, reach, generator=generator)
        if self.start is None:
            nn.init.uniform_(self.bias, -reach, reach, generator=generator)
        else:
            nn.init.constant_(self.bias, self.start)

    def forward(self, x: Tensor, task: Tensor | None = None) -> Tensor:
        weight, bias = pick(self.weight, task), pick(self.bias, task)
        if weight.dim() == 2:
            return F.linear(x, weight.mT, bias[0])
        return torch.baddbmm(bias, x, weight)


class Encoder(nn.Module):
    """Base: dropout on the features, an affine first layer, then the posterior."""

    #: ``first`` is affine and carries all that the posterior needs of x.
    commutes = True

    def __init__(self, latent_dim: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.latent_dim, self.dropout = latent_dim, dropout

    def first(self, x: Tensor, task: Tensor | None = None) -> Tensor:
        """The affine part: (T, N, D) to (T, N, F)."""
        raise NotImplementedError

    def posterior(self, first: Tensor, task: Tensor | None = None) -> Posterior:
        """q(z | x) from the output of ``first``: (T, N, K)."""
        raise NotImplementedError

    def forward(self, x: Tensor, task: Tensor | None = None, noise: Noise | None = None) -> Posterior:
        """q(z | x) of x (T, N, D); with ``noise`` dropout is on (training)."""
        if noise is not None and self.dropout:
            x = x * noise.keep(tuple(x.shape), self.dropout)
        return self.posterior(self.first(x, task), task)


class FixedEncoder(Encoder):
    """z = x: features that are taken as they are."""

    def first(self, x: Tensor, task: Tensor | None = None) -> Tensor:
        return x

    def posterior(self, first: Tensor, task: Tensor | None = None) -> Posterior:
        return Delta(first)


class LinearEncoder(Encoder):
    """z mean = x W + b, with one learned scale per latent dimension."""

    def __init__(self, groups: int, size_in: int, latent_dim: int, stochastic: bool, dropout: float) -> None:
        super().__init__(latent_dim, dropout)
        self.mean = GroupedLinear(groups, size_in, latent_dim)
        start = torch.full((groups, 1, latent_dim), math.log(0.1))
        self.log_scale = nn.Parameter(start) if stochastic else None

    def first(self, x: Tensor, task: Tensor | None = None) -> Tensor:
        return self.mean(x, task)  # type: ignore[no-any-return]

    def posterior(self, first: Tensor, task: Tensor | None = None) -> Posterior:
        if self.log_scale is None:
            return Delta(first)
        scale = pick(self.log_scale, task).exp()
        return Gaussian(first, scale.expand_as(first))


class MlpEncoder(Encoder):
    """The paper's network: dropout, two ELU layers, then mean and scale."""

    def __init__(
        self, groups: int, size_in: int, hidden: int, latent_dim: int, stochastic: bool, dropout: float
    ) -> None:
        super().__init__(latent_dim, dropout)
        self.layer1 = GroupedLinear(groups, size_in, hidden)
        self.layer2 = GroupedLinear(groups, hidden, hidden)
        self.mean = GroupedLinear(groups, hidden, latent_dim)
        self.scale = GroupedLinear(groups, hidden, latent_dim, bias=-2.0) if stochastic else None

    def first(self, x: Tensor, task: Tensor | None = None) -> Tensor:
        return self.layer1(x, task)  # type: ignore[no-any-return]

    def posterior(self, first: Tensor, task: Tensor | None = None) -> Posterior:
        hidden = F.elu(self.layer2(F.elu(first, inplace=True), task), inplace=True)
        mean = self.mean(hidden, task)
        if self.scale is None:
            return Delta(mean)
        return Gaussian(mean, F.softplus(self.scale(hidden, task)).add_(1e-4))
