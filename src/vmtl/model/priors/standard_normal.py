"""The uninformative prior N(0, I) of VSTL and VBMTL."""

from __future__ import annotations

from torch import Tensor

from vmtl.model.distributions import Gaussian, Posterior, standard_normal_kl
from vmtl.model.priors.base import Context, WPrior, ZPrior


class StandardNormalW(WPrior):
    """w ~ N(0, I) for every task and class."""

    posterior = "gaussian"

    def penalty(self, q_w: Posterior, context: Context) -> Tensor:
        assert isinstance(q_w, Gaussian)
        return standard_normal_kl(q_w).sum(-1)  # (T,)


class StandardNormalZ(ZPrior):
    """z ~ N(0, I) for every row."""

    def kl(self, q_z: Posterior, context: Context) -> Tensor:
        assert isinstance(q_z, Gaussian)
        return context.batch.mean(standard_normal_kl(q_z))  # (T,)
