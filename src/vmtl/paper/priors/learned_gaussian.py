"""One Gaussian prior learned from all tasks by EM (Bakker and Heskes, 2003)."""

from __future__ import annotations

import torch
from torch import Tensor

from vmtl.paper.distributions import Gaussian, Posterior
from vmtl.paper.priors.base import Context, WPrior
from vmtl.paper.settings import Settings


def m_step(mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """The prior N(m, v) that maximises the expected log density of all tasks' w.

    m = mean_t mu_t, v = mean_t [ sigma_t^2 + (mu_t - m)^2 ]: (T, C, K) twice to (C, K) twice.
    """
    centre = mean.mean(0)
    return centre, (variance + (mean - centre).square()).mean(0)


class LearnedGaussianW(WPrior):
    """w_tc ~ N(m_c, diag(v_c)) for every task, m and v learned by EM.

    The E step is the gradient on q(w); every ``update_every`` steps the M step sets m and v in closed form.
    Our reading: Bakker and Heskes put a full covariance on a handful of hidden-to-output weights; with
    K = 512 and four tasks a full covariance cannot be estimated, so it is diagonal per class. A floor keeps a
    variance that all tasks agree on from collapsing.
    """

    posteriors = ("gaussian",)
    update_every = 10
    floor = 1e-4
    mean: Tensor
    variance: Tensor

    def __init__(self, settings: Settings, class_mask: Tensor, size: int) -> None:
        super().__init__(settings, class_mask, size)
        shape = (class_mask.shape[1], size)
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("variance", torch.ones(shape))

    def penalty(self, q_w: Posterior, context: Context) -> Tensor:
        assert isinstance(q_w, Gaussian)
        return q_w.kl(Gaussian(self.mean, self.variance.sqrt())).sum(-1)  # (T,)

    def marginal(self, q_w: Posterior, alpha: Tensor) -> tuple[Tensor, Tensor]:
        return self.mean.expand_as(q_w.mean), self.variance.expand_as(q_w.mean)

    def update(self, q_w: Posterior) -> None:
        centre, variance = m_step(q_w.mean.detach(), q_w.variance.detach())
        self.mean.copy_(centre)
        self.variance.copy_(variance.clamp_min(self.floor))
