"""The paper's prior of z (Eq. 9): a mixture of the encodings that the other tasks have of a row.

p(z_tn | x_tn, others) = sum_{i != t} beta_ti q(z | f(x_tn, D_i))

where
    q(z | .) = ``encoder``, the network that also makes q(z | x), without dropout unless ``prior_dropout``
    f(x_tn, D_i) = ``Attention`` (Eq. 10), an average over the rows of task i that have the label of n
    beta_ti = ``context.beta`` (T, T)

Where we depart from the paper: a task without the row's class is left out of beta for that row; if none is left, the
prior is N(0, I). Gradients pass through the prior unless ``gradient_z`` is ``detached``, which is the paper's "previous
iteration": nothing then keeps the prior's scale from falling (docs/presets.md).
"""

from __future__ import annotations

from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.paper.attention import Attention
from vmtl.paper.distributions import Gaussian, Posterior
from vmtl.paper.encoders import Encoder, KernelEncoder, LinearEncoder
from vmtl.paper.priors.base import Context, PriorSettings, ZPrior
from vmtl.paper.priors.mixture_kl.encoded_mixture import EncodedMixture
from vmtl.paper.priors.mixture_kl.kernel_bound import KernelBound
from vmtl.paper.priors.mixture_kl.linear_bound import LinearBound


class GumbelMixtureZ(ZPrior):
    """p(z_tn | x_tn, others) = sum_{i != t} beta_ti q(z | f(x_tn, D_i))."""

    mixes = True

    def __init__(self, settings: PriorSettings, rows: Rows, encoder: Encoder) -> None:
        super().__init__(settings, rows, encoder)
        self._divergence = cheapest_divergence(settings, rows, encoder)

    def kl(self, q_z: Posterior, context: Context) -> Tensor:
        """KL(q(z) || p(z)), the mean over the rows of each task: (T,)."""
        assert isinstance(q_z, Gaussian)
        return self._divergence.kl(q_z, context)


def cheapest_divergence(
    settings: PriorSettings, rows: Rows, encoder: Encoder
) -> KernelBound | LinearBound | EncodedMixture:
    """The quickest way to the same KL: tables that are made once, where encoder and form allow it."""
    attention, detached = Attention(rows, settings.attention), settings.gradient_z == "detached"
    if settings.kl_form != "bound" or (settings.dropout and encoder.dropout):
        return EncodedMixture(settings, rows, encoder, attention)
    if isinstance(encoder, KernelEncoder):
        return KernelBound(rows, encoder, attention, detached)
    if isinstance(encoder, LinearEncoder) and LinearBound.pays(rows, encoder):
        return LinearBound(rows, encoder, attention, detached)
    return EncodedMixture(settings, rows, encoder, attention)
