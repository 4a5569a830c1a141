"""Likelihoods of the targets given the latent function: each scores a prior, and solves for the posterior."""

from vmtl.gp.latent_prior import Gram
from vmtl.gp.likelihoods.base import Evaluation, Likelihood
from vmtl.gp.likelihoods.gaussian import GaussianLikelihood
from vmtl.gp.likelihoods.softmax import SoftmaxLikelihood

__all__ = ["Evaluation", "GaussianLikelihood", "Likelihood", "SoftmaxLikelihood", "likelihood_of"]


def likelihood_of(gram: Gram, seed: int) -> Likelihood:
    """The likelihood of the targets of these rows."""
    return SoftmaxLikelihood(gram, seed) if gram.rows.is_classification else GaussianLikelihood(gram)
