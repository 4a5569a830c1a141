"""Likelihoods: logits and targets to the negative log likelihood of every row."""

from vmtl.model.likelihoods.categorical import Categorical
from vmtl.model.likelihoods.gaussian_noise import GaussianNoise

Likelihood = Categorical | GaussianNoise

__all__ = ["Categorical", "GaussianNoise", "Likelihood"]
