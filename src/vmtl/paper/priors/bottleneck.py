"""The variational information bottleneck on the representation (Alemi et al., 2017; Qian et al., 2020)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vmtl.data.rows import Rows
from vmtl.paper.distributions import Gaussian, Posterior
from vmtl.paper.encoders import Encoder
from vmtl.paper.priors.base import Context, ZPrior
from vmtl.paper.settings import Settings


class BottleneckZ(ZPrior):
    """I(Z; X) <= E KL(q(z | x) || r(z)), with r(z) = N(m, diag(s^2)) learned.

    r is the variational approximation of the marginal of z, shared by all tasks; where Alemi et al. fix it
    to N(0, I), its mean and scale are learned here, which makes the bound on the information tighter.
    """

    def __init__(self, settings: Settings, rows: Rows, latent_dim: int) -> None:
        super().__init__(settings, rows, latent_dim)
        self.mean = nn.Parameter(torch.zeros(latent_dim))
        self.log_scale = nn.Parameter(torch.zeros(latent_dim))

    def kl(self, q_z: Posterior, encoder: Encoder, context: Context) -> Tensor:
        assert isinstance(q_z, Gaussian)
        marginal = Gaussian(self.mean, self.log_scale.exp())
        return context.batch.mean(q_z.kl(marginal))  # (T,)
