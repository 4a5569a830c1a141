"""Likelihoods p(y | z, w) of Eq. 2: logits and targets to the negative log likelihood of every row.

Each likelihood gives it for logits, and for draws of z and w with gradients that the forward pass computes
(``sampled_loss``).
"""

from vmtl.paper.likelihoods.categorical import Categorical
from vmtl.paper.likelihoods.gaussian_noise import GaussianNoise

Likelihood = Categorical | GaussianNoise

__all__ = ["Categorical", "GaussianNoise", "Likelihood"]
