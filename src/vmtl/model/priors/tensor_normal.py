"""A tensor-normal prior on the stacked classifiers: multilinear relationship networks (Long et al., 2017)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from vmtl.model.distributions import Posterior
from vmtl.model.priors.base import Context, PriorSettings, WPrior


def unfold_covariance(w: Tensor, left: int, inverses: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """The flip-flop update of one factor: W_(a) (S_b x S_c)^-1 W_(a)^T / (b c), W_(a) the mode-a unfolding.

    w : (T, C, K); left : which axis; inverses : the three inverse factors, of which two are used.
    """
    whitened = w
    for axis in range(3):
        if axis != left:
            whitened = torch.tensordot(whitened, inverses[axis], dims=([axis], [0])).movedim(-1, axis)
    others = [axis for axis in range(3) if axis != left]
    size = w.numel() / w.shape[left]
    factor: Tensor = torch.tensordot(w, whitened, dims=(others, others)) / size
    return factor


def negative_log_density(w: Tensor, inverses: tuple[Tensor, Tensor, Tensor], log_dets: Tensor) -> Tensor:
    """-log TN(w; 0, S_T, S_C, S_K) of the whole tensor, with the log determinants of the factors."""
    whitened = w
    for axis in range(3):
        whitened = torch.tensordot(whitened, inverses[axis], dims=([axis], [0])).movedim(-1, axis)
    sizes = torch.tensor([w.numel() / size for size in w.shape], dtype=w.dtype, device=w.device)
    log_det = (sizes * log_dets).sum()
    return 0.5 * ((w * whitened).sum() + log_det + w.numel() * math.log(2 * math.pi))


class TensorNormalW(WPrior):
    """vec(W) ~ N(0, S_task x S_class x S_feature), the three factors updated in closed form.

    Every ``update_every`` steps each factor is set by one flip-flop step given the other two. As in the
    authors' code, a factor is floored in its singular values and its trace is capped, without which the
    product of three estimated factors has no scale and runs away. The penalty is the negative log density
    of the MAP estimate, the same share for every task. Reading taken: one task-specific layer (the
    classifier), as in the paper's comparison; the bias is one more feature.
    """

    posteriors = ("delta",)
    update_every = 100
    floor = 1e-2

    def __init__(self, settings: PriorSettings, class_mask: Tensor, size: int) -> None:
        super().__init__(settings, class_mask, size)
        for axis, length in enumerate((*class_mask.shape, size)):
            self.register_buffer(f"covariance_{axis}", torch.eye(length))
            self.register_buffer(f"inverse_{axis}", torch.eye(length))
        self.register_buffer("log_dets", torch.zeros(3))

    def penalty(self, q_w: Posterior, context: Context) -> Tensor:
        w = q_w.mean
        log_dets: Tensor = self.get_buffer("log_dets")
        return negative_log_density(w, self._inverses(), log_dets).expand(len(w)) / len(w)

    def update(self, q_w: Posterior) -> None:
        w = q_w.mean.detach()
        for axis in range(3):
            covariance = self._stabilise(unfold_covariance(w, axis, self._inverses()))
            values, vectors = torch.linalg.eigh(covariance)
            self.get_buffer(f"covariance_{axis}").copy_(covariance)
            self.get_buffer(f"inverse_{axis}").copy_((vectors / values) @ vectors.T)
            self.get_buffer("log_dets")[axis] = values.log().sum()

    def _stabilise(self, covariance: Tensor) -> Tensor:
        """The trace capped at that of the identity, then the eigenvalues raised by a floor that the cap cannot undo."""
        values, vectors = torch.linalg.eigh((covariance + covariance.T) / 2)
        values = values.clamp_min(0)
        values = values * (len(values) / values.sum().clamp_min(self.floor)).clamp_max(1.0) + self.floor
        stable: Tensor = (vectors * values) @ vectors.T
        return stable

    def _inverses(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.get_buffer("inverse_0"), self.get_buffer("inverse_1"), self.get_buffer("inverse_2")
