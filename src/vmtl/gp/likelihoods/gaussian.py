"""Gaussian targets: evidence, left-out predictions and posterior from one factorisation."""

from __future__ import annotations

import math

import torch

from vmtl._utils.cholesky import cholesky
from vmtl.gp.latent_prior import Gram, LatentPrior
from vmtl.gp.likelihoods.base import Evaluation


class GaussianLikelihood:
    """y ~ N(f, u^2 / weight), where f has the prior u f0 and u is the unit that suits the targets best.

        A = K + 1 / weight,    a = A^-1 y,    e_n = a_n / (A^-1)_nn    the error of row n without row n

    The score is the mean of the log evidence and of the log density of left-out targets. The evidence averages the
    density of rows predicted from all smaller sets of rows (Fong and Holmes, 2020), and wins where rows are few.
    Left-out rows guard it where its noise model is wrong, such as counts that are mostly zero.
    """

    def __init__(self, gram: Gram) -> None:
        self.gram = gram
        self.unit = gram.rows.unit

    def evaluate(self, prior: LatentPrior) -> Evaluation:
        y = self.gram.rows.y.double()
        weight = self.gram.rows.weight.double() / self.unit
        covariance = self.gram.kernel(prior)
        covariance.diagonal().add_(1 / weight)
        factor = cholesky(covariance)
        inverse = torch.cholesky_inverse(factor)
        dual, precision, count = inverse @ y, inverse.diagonal(), weight.sum()
        square = (y @ dual / count).clamp_min(1e-12)  # u^2 by the evidence
        evidence = -0.5 * count * square.log() - factor.diagonal().log().sum()
        errors = dual / precision
        left_out_square = (weight @ (errors.square() * precision) / count).clamp_min(1e-12)  # u^2 by left-out rows
        by_row = 0.5 * (precision.log() - left_out_square.log() - errors.square() * precision / left_out_square)
        left_out = weight @ (by_row + 0.5)
        u = math.sqrt(float(square))
        return Evaluation(
            log_score=0.5 * float(evidence + left_out),
            by_row=weight * by_row,
            held_out=errors[:, None],
            prior=prior.scaled(u),
            dual=dual[:, None] / float(square),
            noise=u * math.sqrt(self.unit),
        )
