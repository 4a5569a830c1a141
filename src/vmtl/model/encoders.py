"""Encoders: fixed features of a row to the posterior q(z | x) of Eq. 3, shared by all tasks or one per task.

q(z_tn | x_tn) = N(mean(x_tn), diag(scale(x_tn)^2))

where
    x_tn = ``x`` (T, N, D)
    mean, scale = those of the posterior that ``forward`` returns, (T, N, K)

An encoder is an affine ``first`` layer followed by ``posterior``, because an affine layer commutes with the attention
average of the prior of z.

Where we depart from the paper: its network is ``MlpEncoder``; the default's is ``KernelEncoder`` (docs/defaults.md).
"""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vmtl._utils.noise import Noise
from vmtl.model.distributions import Delta, Gaussian, Posterior
from vmtl.model.layers import GroupedLinear, NoisyLinear, NoisyMlp, pick
from vmtl.model.parameter_groups import ParameterGroups


class Encoder(nn.Module):
    """Base: dropout on the features, an affine first layer, then the posterior."""

    #: q(z | x) has a mean that training never changes.
    fixed = False
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


class KernelEncoder(Encoder):
    """z = kernel features, one learned width: q(z | x) = N(h, (s spread)^2).

    where h = x, the kernel features made once per fit, (T, N, K); spread = their standard deviation over
    the training rows, (G, K); s = one learned number per group. The scale follows the spread of each
    dimension instead of being free in each, so that KL_z needs one table of squared distances per fit.
    """

    fixed = True
    parameter_groups: ClassVar[ParameterGroups] = {"log_width": "scale"}
    spread: Tensor

    def __init__(self, spread: Tensor, stochastic: bool) -> None:
        super().__init__(spread.shape[-1])
        self.register_buffer("spread", spread[:, None])  # (G, 1, K)
        start = torch.full((len(spread), 1, 1), math.log(0.1))
        self.log_width = nn.Parameter(start) if stochastic else None

    def first(self, x: Tensor, task: Tensor | None = None) -> Tensor:
        return x

    def posterior(self, first: Tensor, task: Tensor | None = None) -> Posterior:
        if self.log_width is None:
            return Delta(first)
        scale = pick(self.spread, task) * pick(self.log_width, task).exp()
        return Gaussian(first, scale.expand_as(first))


class FixedEncoder(Encoder):
    """z = x: features that are taken as they are."""

    fixed = True

    def first(self, x: Tensor, task: Tensor | None = None) -> Tensor:
        return x

    def posterior(self, first: Tensor, task: Tensor | None = None) -> Posterior:
        return Delta(first)


class LinearEncoder(Encoder):
    """z mean = x W + b, with one learned scale per latent dimension."""

    parameter_groups: ClassVar[ParameterGroups] = {"log_scale": "scale"}

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


class NoisyLinearEncoder(Encoder):
    """The encoder of the authors' VMTL: one layer with Gaussian weights.

    The variance of z needs x itself, so this encoder does not commute with the attention average and reads the
    aggregated features.
    """

    commutes = False

    def __init__(self, groups: int, size_in: int, latent_dim: int, dropout: float) -> None:
        super().__init__(latent_dim, dropout)
        self.layer = NoisyLinear(groups, size_in, latent_dim)

    def first(self, x: Tensor, task: Tensor | None = None) -> Tensor:
        return x

    def posterior(self, first: Tensor, task: Tensor | None = None) -> Posterior:
        return self.layer(first, task)  # type: ignore[no-any-return]


class NoisyMlpEncoder(Encoder):
    """The encoder of the authors' VMTL-AC: two ELU layers, then one with Gaussian weights."""

    def __init__(self, groups: int, size_in: int, hidden: int, latent_dim: int, dropout: float) -> None:
        super().__init__(latent_dim, dropout)
        self.network = NoisyMlp(groups, size_in, hidden, latent_dim)

    def first(self, x: Tensor, task: Tensor | None = None) -> Tensor:
        return self.network.layer1(x, task)  # type: ignore[no-any-return]

    def posterior(self, first: Tensor, task: Tensor | None = None) -> Posterior:
        return self.network.after_first(first, task)


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


def upgrade(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors of a noisy linear encoder as 0.1.0 wrote them: widths as logs, and none of the bias."""
    log_scale = weights["encoder.log_scale"]
    renamed = {name.replace("encoder.mean.", "encoder.layer.mean."): value for name, value in weights.items()}
    del renamed["encoder.log_scale"]
    renamed["encoder.layer.rho"] = log_scale.exp().expm1().log()
    renamed["encoder.layer.rho_bias"] = torch.full_like(weights["encoder.mean.bias"], -1e3)
    return renamed
