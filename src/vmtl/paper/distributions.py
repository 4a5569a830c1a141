"""Posteriors (Eq. 3): factorised Gaussians, and a delta, so that deterministic methods need no second path.

q(Z_t, w_t) = q(w_t) prod_n q(z_tn | x_tn), each factor N(mean, diag(scale^2)) or a point mass at mean

where
    q(z_tn | x_tn) = ``q_z``, made by an encoder, (T, N, K)
    q(w_t) = ``q_w``, made by a head, (T, C, K + 1)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Gaussian:
    """Factorised Gaussian N(mean, diag(scale^2)); the last axis is the event."""

    mean: Tensor  # (..., K)
    scale: Tensor  # (..., K), positive

    stochastic = True

    @property
    def variance(self) -> Tensor:
        """scale^2: (..., K)."""
        return self.scale.square()

    def rsample(self, noise: Tensor) -> Tensor:
        """Reparameterised draws: mean + scale * noise; draws are the leading axis of ``noise``."""
        return torch.addcmul(self.mean, self.scale, noise)

    def at(self, index: Tensor) -> Gaussian:
        """The entries ``index`` of the leading axis."""
        return Gaussian(self.mean[index], self.scale[index])

    def kl(self, other: Gaussian) -> Tensor:
        """KL(self || other), summed over the last axis.

        sum_k log(s2/s1) + (s1^2 + (m1 - m2)^2) / (2 s2^2) - 1/2
        """
        ratio = (self.scale / other.scale).square()
        distance = ((self.mean - other.mean) / other.scale).square()
        return 0.5 * (ratio + distance - 1 - ratio.log()).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        """log N(value), summed over the last axis."""
        standardised = ((value - self.mean) / self.scale).square()
        return -0.5 * (standardised + 2 * self.scale.log() + math.log(2 * math.pi)).sum(-1)

    def detach(self) -> Gaussian:
        """The same distribution, without gradients."""
        return Gaussian(self.mean.detach(), self.scale.detach())


@dataclass(frozen=True)
class Delta:
    """A point mass at ``mean``: what a deterministic representation or classifier is."""

    mean: Tensor  # (..., K)

    stochastic = False

    @property
    def variance(self) -> Tensor:
        """0: (..., K)."""
        return torch.zeros_like(self.mean)

    def rsample(self, noise: Tensor) -> Tensor:
        """The mean, once for every draw in the leading axis of ``noise``."""
        return self.mean.expand(len(noise), *self.mean.shape)

    def at(self, index: Tensor) -> Delta:
        """The entries ``index`` of the leading axis."""
        return Delta(self.mean[index])

    def detach(self) -> Delta:
        """The same point, without gradients."""
        return Delta(self.mean.detach())


Posterior = Gaussian | Delta


def standard_normal_kl(q: Gaussian) -> Tensor:
    """KL(q || N(0, I)), summed over the last axis: 1/2 sum_k s^2 + m^2 - 1 - log s^2."""
    return 0.5 * (q.variance + q.mean.square() - 1 - 2 * q.scale.log()).sum(-1)
