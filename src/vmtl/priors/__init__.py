"""Priors by name, one file each."""

from vmtl.priors.base import Context, PriorGradient, PriorSettings, WPrior, ZPrior
from vmtl.priors.bottleneck import BottleneckZ
from vmtl.priors.gumbel_mixture import GumbelMixtureW
from vmtl.priors.gumbel_mixture_z import GumbelMixtureZ
from vmtl.priors.learned_gaussian import LearnedGaussianW
from vmtl.priors.standard_normal import StandardNormalW, StandardNormalZ
from vmtl.priors.tensor_normal import TensorNormalW

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

__all__ = ["W_PRIORS", "Z_PRIORS", "Context", "PriorGradient", "PriorSettings", "WPrior", "ZPrior"]
