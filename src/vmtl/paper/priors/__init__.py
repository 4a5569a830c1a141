"""Priors by name, one file each: of w (Eq. 6) and of z (Eq. 9), and those of the baselines."""

from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.paper.encoders import Encoder
from vmtl.paper.priors.base import Context, PriorSettings, WPrior, ZPrior
from vmtl.paper.priors.bottleneck import BottleneckZ
from vmtl.paper.priors.conditional_mixture_w import ConditionalMixtureW
from vmtl.paper.priors.gumbel_mixture_w import GumbelMixtureW
from vmtl.paper.priors.gumbel_mixture_z import GumbelMixtureZ
from vmtl.paper.priors.learned_gaussian import LearnedGaussianW
from vmtl.paper.priors.standard_normal import StandardNormalW, StandardNormalZ
from vmtl.paper.priors.tensor_normal import TensorNormalW

W_PRIORS: dict[str, type[WPrior]] = {
    "standard_normal": StandardNormalW,
    "gumbel_mixture": GumbelMixtureW,
    "learned_gaussian": LearnedGaussianW,
    "tensor_normal": TensorNormalW,
}
Z_PRIORS: dict[str, type[ZPrior]] = {
    "standard_normal": StandardNormalZ,
    "gumbel_mixture": GumbelMixtureZ,
    "bottleneck": BottleneckZ,
}


def make_w_prior(name: str, settings: PriorSettings, class_mask: Tensor, size: int) -> WPrior:
    """The prior of w of that name; a mixture whose sharing strength is not given infers one per task."""
    kind = W_PRIORS[name]
    if kind is GumbelMixtureW and settings.sharing is None:
        kind = ConditionalMixtureW
    return kind(settings, class_mask, size)


def make_z_prior(name: str, settings: PriorSettings, rows: Rows, encoder: Encoder) -> ZPrior:
    """The prior of z of that name for these training rows; one task alone has no others to mix: N(0, I)."""
    kind = Z_PRIORS[name]
    if kind.mixes and rows.n_tasks == 1:
        kind = StandardNormalZ
    return kind(settings, rows, encoder).to(rows.x)


__all__ = ["W_PRIORS", "Z_PRIORS", "Context", "PriorSettings", "WPrior", "ZPrior", "make_w_prior", "make_z_prior"]
