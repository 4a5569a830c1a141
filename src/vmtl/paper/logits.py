"""Logits from z and w: the draws z^l, w^m of Eq. 11, and their closed-form moments.

logits = w . [z; 1]

where
    z = ``q_z``, mean and scale (T, N, K)
    w = ``q_w``, mean and scale (T, C, K + 1): the last entry multiplies a feature of value 1, the bias

Where we depart from the paper: given z, M draws of the logits replace M draws of the weight matrix (local
reparameterisation), and draws come in antithetic pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from vmtl._utils.noise import Noise, antithetic
from vmtl.paper.distributions import Gaussian, Posterior


@dataclass(frozen=True)
class Moments:
    """Mean and variance of every logit with z and w integrated out in closed form."""

    mean: Tensor  # (T, N, C)
    variance: Tensor  # (T, N, C)


def affine(z: Tensor, weight: Tensor) -> Tensor:
    """weight . [z; 1]: (..., N, K) and (..., C, K + 1) to (..., N, C)."""
    return z @ weight[..., :-1].mT + weight[..., -1].unsqueeze(-2)


def fused_affine(z: Tensor, weight: Tensor) -> Tensor:
    """The same in one call, to rounding, for the hot path: (T, N, K) and (T, C, K + 1) to (T, N, C)."""
    return torch.baddbmm(weight[..., -1:].mT, z, weight[..., :-1].mT)


def sample_logits(q_z: Posterior, q_w: Posterior, noise: Noise, n_z: int, n_w: int) -> Tensor:
    """Draws of the logits: z by reparameterisation, w by local reparameterisation.

    Given z, w . [z; 1] is Gaussian with mean mu_w . [z; 1] and variance sigma_w^2 . [z^2; 1], so M = ``n_w`` draws
    of logits replace sampled weight matrices: the law of one fresh w per row. The result is (L * M, T, N, C), with
    L = ``n_z``; a delta needs one draw only. The partner of an antithetic draw of z has the opposite noise of w.
    Training takes ``vmtl.paper.likelihoods.sampled_loss`` where both are Gaussian.
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
    Classes share z; the covariance between classes that this causes is dropped.
    """
    mean = affine(q_z.mean, q_w.mean)
    if not q_z.stochastic:
        return Moments(mean, affine(q_z.mean.square(), q_w.variance))
    spread = q_z.variance
    variance = affine(q_z.mean.square() + spread, q_w.variance) + spread @ q_w.mean[..., :-1].square().mT
    return Moments(mean, variance)
