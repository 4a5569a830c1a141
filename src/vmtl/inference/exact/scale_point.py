"""One prior of the outputs, and how well it explains the rows: a point of the lattice of scales."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from vmtl._utils.cholesky import cholesky
from vmtl.inference.exact.laplace import evidence_and_left_out, log_evidence, posterior_mode
from vmtl.inference.exact.output_prior import Dual, OutputPrior


@dataclass(frozen=True)
class ScalePoint:
    """One prior of the outputs with what the rows say under it."""

    prior: OutputPrior
    strength: float  # m
    decay: float  # gamma
    noise: float  # deviation of a regression's noise; 1 of a classifier
    log_joint: float  # log evidence + log belief
    log_left_out: float  # how well left-out rows are predicted, + log belief; of two classes it is not asked for
    solution: Tensor  # (n, C) a = K^-1 f
    residuals: Tensor | None  # (n,) leave-one-out errors of a regression


class ClassifierPoints:
    """How well a prior of the outputs explains labels: by the evidence, and of more than two classes by left-out rows.

    Laplace's evidence of many classes speaks for logits that are far too small, so that left-out rows weigh the scales.
    """

    def __init__(self, dual: Dual) -> None:
        self.dual = dual

    def __call__(
        self, prior: OutputPrior, sharing: tuple[float, float], surprise: float, near: ScalePoint | None
    ) -> ScalePoint:
        dual, kernel = self.dual, prior.kernel(self.dual.gram, self.dual.task)
        start = None if near is None else near.solution
        mode = posterior_mode(kernel, dual.y, dual.n_classes, dual.weight, start)
        if dual.n_classes == 2:
            evidence = left_out = log_evidence(kernel, mode, dual.y, dual.weight)
        else:
            evidence, left_out = evidence_and_left_out(kernel, mode, dual.y, dual.weight)
        return ScalePoint(prior, *sharing, 1.0, evidence - surprise, left_out - surprise, mode.solution, None)


class RegressionPoints:
    """The evidence of targets, y ~ N(0, u^2 (K + 1 / weight)), at the unit u that suits them best."""

    def __init__(self, dual: Dual) -> None:
        self.dual = dual
        self.unit = float(dual.weight.square().sum() / dual.weight.sum())

    def __call__(
        self, prior: OutputPrior, sharing: tuple[float, float], surprise: float, near: ScalePoint | None
    ) -> ScalePoint:
        dual, y = self.dual, self.dual.y.double()
        weight = dual.weight / self.unit
        covariance = prior.kernel(dual.gram, dual.task)
        covariance.diagonal().add_(1 / weight)
        factor = cholesky(covariance)
        inverse = torch.cholesky_inverse(factor)
        solution, count = inverse @ y, weight.sum()
        square = float((y @ solution / count).clamp_min(1e-12))
        evidence = -0.5 * float(count) * math.log(square) - float(factor.diagonal().log().sum())
        residuals = solution / inverse.diagonal()
        error = float((weight @ residuals.square() / count).clamp_min(1e-12))
        u = square**0.5
        scaled_prior = OutputPrior(prior.covariance, u * prior.scale, u * prior.task_level, u * prior.shared_level)
        return ScalePoint(
            scaled_prior,
            *sharing,
            u * self.unit**0.5,
            evidence - surprise,
            -0.5 * float(count) * math.log(error) - surprise,
            solution[:, None] / square,
            dual.to_all_rows(residuals),
        )
