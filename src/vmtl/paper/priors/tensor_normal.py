"""A tensor-normal prior on the stacked classifiers: multilinear relationship networks (Long et al., 2017)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from vmtl._utils.cholesky import inverse
from vmtl.paper.distributions import Posterior
from vmtl.paper.priors.base import Context, WPrior
from vmtl.paper.settings import Settings


def task_covariance(w: Tensor) -> Tensor:
    """The update of the tasks' factor given that the others are I: W W' / (C K), W (T, C K) the unfolding: (T, T)."""
    unfolded = w.flatten(1)
    return unfolded @ unfolded.T / unfolded.shape[1]


def negative_log_density(w: Tensor, inverse: Tensor, log_det: Tensor) -> Tensor:
    """-log TN(w; 0, S, I, I) of the whole tensor w (T, C, K), with the inverse and the log determinant of S (T, T)."""
    unfolded = w.flatten(1)
    quadratic = (unfolded * (inverse @ unfolded)).sum()
    return 0.5 * (quadratic + unfolded.shape[1] * log_det + w.numel() * math.log(2 * math.pi))


class TensorNormalW(WPrior):
    """vec(W) ~ N(0, S x I x I), the covariance S of the tasks updated in closed form.

    Their prior has a factor for classes and one for features as well; the authors' code leaves both at I, and so does
    this class: K^2 numbers cannot be learned from a few classifiers. As there, the factor is floored and its
    scale capped. Only relations are learned: S is a correlation matrix, and how large weights may be is left to the
    scale of the logits. The penalty is minus the log density of the point, the same share for every task.
    """

    posteriors = ("delta",)
    update_every = 100
    #: Weight of I in the correlation matrix.
    floor = 0.1
    covariance: Tensor
    inverse: Tensor
    log_det: Tensor

    def __init__(self, settings: Settings, class_mask: Tensor, size: int) -> None:
        super().__init__(settings, class_mask, size)
        self.register_buffer("covariance", torch.eye(len(class_mask)))
        self.register_buffer("inverse", torch.eye(len(class_mask)))
        self.register_buffer("log_det", torch.zeros(()))

    def penalty(self, q_w: Posterior, context: Context) -> Tensor:
        w = q_w.mean
        return negative_log_density(w, self.inverse, self.log_det).expand(len(w)) / len(w)

    def update(self, q_w: Posterior) -> None:
        covariance = task_covariance(q_w.mean.detach())
        deviation = covariance.diagonal().clamp_min(torch.finfo(covariance.dtype).tiny).sqrt()
        correlation = covariance / (deviation[:, None] * deviation)
        eye = torch.eye(len(correlation), dtype=correlation.dtype, device=correlation.device)
        self.assign((1 - self.floor) * correlation + self.floor * eye)

    def assign(self, covariance: Tensor) -> None:
        """Take S (T, T), with what the density needs of it."""
        self.covariance.copy_(covariance)
        self.inverse.copy_(inverse(self.covariance))
        self.log_det.copy_(torch.logdet(self.covariance))
