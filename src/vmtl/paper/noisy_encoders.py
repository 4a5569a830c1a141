"""Layers whose weights are themselves Gaussian, and encoders made of them: the authors' code, not the paper.

The paper has networks with two outputs, mean and scale. Here the scale of an output comes from those of the weights,
which have no prior: nothing is paid for them.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vmtl.paper.distributions import Gaussian, Posterior
from vmtl.paper.encoders import Encoder, GroupedLinear, pick


class NoisyLinear(nn.Module):
    """An affine map with weights N(W, S^2) and bias N(b, s^2): the outputs have mean x W + b, variance x^2 S^2 + s^2.

    where S, s = softplus of ``rho`` (G, in, out) and ``rho_bias`` (G, 1, out).
    """

    #: Standard deviation of the initial means, and the initial value of rho.
    deviation, start = 0.1, -3.0

    def __init__(self, groups: int, size_in: int, size_out: int) -> None:
        super().__init__()
        self.mean = GroupedLinear(groups, size_in, size_out, deviation=self.deviation)
        self.rho = nn.Parameter(torch.full((groups, size_in, size_out), self.start))
        self.rho_bias = nn.Parameter(torch.full((groups, 1, size_out), self.start))

    def forward(self, x: Tensor, task: Tensor | None = None) -> Gaussian:
        spread, bias_spread = F.softplus(pick(self.rho, task)), F.softplus(pick(self.rho_bias, task))
        variance = x.square() @ spread.square() + bias_spread.square()
        return Gaussian(self.mean(x, task), variance.clamp_min(1e-12).sqrt())


class NoisyMlp(nn.Module):
    """Two ELU layers and a noisy last one."""

    def __init__(self, groups: int, size_in: int, hidden: int, size_out: int) -> None:
        super().__init__()
        self.layer1 = GroupedLinear(groups, size_in, hidden)
        self.layer2 = GroupedLinear(groups, hidden, hidden)
        self.last = NoisyLinear(groups, hidden, size_out)

    def after_first(self, first: Tensor, task: Tensor | None = None) -> Gaussian:
        """What follows the first affine map."""
        q: Gaussian = self.last(F.elu(self.layer2(F.elu(first), task)), task)
        return q

    def forward(self, x: Tensor, task: Tensor | None = None) -> Gaussian:
        return self.after_first(self.layer1(x, task), task)


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
