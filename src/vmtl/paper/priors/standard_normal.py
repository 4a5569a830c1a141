"""The uninformative prior N(0, I): of VSTL and VBMTL, and ridge where a method has a point estimate of w."""

from __future__ import annotations

from torch import Tensor

from vmtl.paper.distributions import Gaussian, Posterior, standard_normal_kl
from vmtl.paper.encoders import Encoder
from vmtl.paper.priors.base import Context, WPrior, ZPrior


class StandardNormalW(WPrior):
    """w ~ N(0, I) for every task and class."""

    posteriors = ("gaussian", "delta")

    def penalty(self, q_w: Posterior, context: Context) -> Tensor:
        """KL(q(w) || N(0, I)); of a point minus its log density up to a constant, 1/2 |w|^2: (T,)."""
        if isinstance(q_w, Gaussian):
            return standard_normal_kl(q_w).sum(-1)
        return 0.5 * q_w.mean.square().sum((-2, -1))


class StandardNormalZ(ZPrior):
    """z ~ N(0, I) for every row."""

    def kl(self, q_z: Posterior, encoder: Encoder, context: Context) -> Tensor:
        assert isinstance(q_z, Gaussian)
        return context.batch.mean(standard_normal_kl(q_z))  # (T,)
