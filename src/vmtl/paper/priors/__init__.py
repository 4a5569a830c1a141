"""Priors by name, one file each: of w (Eq. 6) and of z (Eq. 9), and those of the baselines."""

from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.paper.priors.base import Context, WPrior, ZPrior
from vmtl.paper.priors.bottleneck import BottleneckZ
from vmtl.paper.priors.gumbel_mixture_w import GumbelMixtureW
from vmtl.paper.priors.gumbel_mixture_z import GumbelMixtureZ
from vmtl.paper.priors.learned_gaussian import LearnedGaussianW
from vmtl.paper.priors.standard_normal import StandardNormalW, StandardNormalZ
from vmtl.paper.priors.tensor_normal import TensorNormalW
from vmtl.paper.settings import Settings

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


def make_w_prior(name: str, settings: Settings, class_mask: Tensor, size: int) -> WPrior:
    """The prior of w of that name, for tasks that saw the classes of ``class_mask`` (T, C)."""
    return W_PRIORS[name](settings, class_mask, size)


def make_z_prior(name: str, settings: Settings, rows: Rows, latent_dim: int) -> ZPrior:
    """The prior of z of that name for these training rows; one task alone has no others to mix: N(0, I)."""
    kind = Z_PRIORS[name]
    if kind.mixes and rows.n_tasks == 1:
        kind = StandardNormalZ
    return kind(settings, rows, latent_dim).to(rows.x)


__all__ = ["W_PRIORS", "Z_PRIORS", "Context", "WPrior", "ZPrior", "make_w_prior", "make_z_prior"]
