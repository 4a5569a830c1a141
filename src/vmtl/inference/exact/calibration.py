"""Step 4 of the exact way: how sure the result may be, by what is predicted for left-out training rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl.data.rows import Rows
from vmtl.inference.exact.error_variances import error_variances
from vmtl.inference.exact.laplace import leave_one_out_logits
from vmtl.inference.exact.posterior import Dual
from vmtl.inference.prediction import SHRINKAGE
from vmtl.model.distributions import Delta
from vmtl.model.heads import DirectHead
from vmtl.model.likelihoods import GaussianNoise
from vmtl.model.logits import logit_moments
from vmtl.model.model import Model

#: Belief about the log of the factor that calibrates a classifier, and its bound: the variance makes it hardly
#: identifiable where rows are few.
FACTOR_DEVIATION, FACTOR_RANGE = 0.3, 0.6
#: Logs of the factors that are tried for the width of q(w); the belief about them is N(0, 1).
WIDTHS = (0.0, -0.5, -1.0, -1.5, -2.0, -3.0)
#: Noise is at least this part of a task's error variance.
LEAST_NOISE = 0.1


@dataclass(frozen=True)
class Calibration:
    """The logs of what the logit scale and the widths of q(w) of a classifier were multiplied by."""

    log_scale: float
    log_width: float
    left_out: Tensor  # (n, C) probabilities of the rows that count, each predicted without itself, with these factors


@dataclass(frozen=True)
class TrainingLogits:
    """Moments of the logits of the rows that count, in the order of ``Dual``: (n, C) each."""

    mean: Tensor
    variance: Tensor
    variance_of_z: Tensor  # the part that the widths of q(w) have nothing to do with

    @classmethod
    def of(cls, model: Model, rows: Rows) -> TrainingLogits:
        index, mask = rows.by_task
        q_z, q_w = model.encoder(rows.x[index]), model.q_w()
        moments, of_z = logit_moments(q_z, q_w), logit_moments(q_z, Delta(q_w.mean)).variance  # (T, M, C)
        order = index[mask].cpu()
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order))
        place = place[rows.weight.cpu() > 0]
        scale = float(model.logit_scale)
        mean, variance, of_z = (value[mask].double().cpu()[place] for value in (moments.mean, moments.variance, of_z))
        return cls(scale * mean, scale**2 * variance, scale**2 * of_z)


@torch.no_grad()
def calibrate_classifier(model: Model, rows: Rows, covariance: Tensor) -> Calibration:
    """Logit scale and width of q(w), its means at the mode under B, such that left-out rows are predicted best."""
    logits = TrainingLogits.of(model, rows)
    return _apply(model, _best_factors(model, rows, covariance, logits, logits.mean.softmax(-1), WIDTHS))


@torch.no_grad()
def calibrate_trained_classifier(model: Model, rows: Rows, covariance: Tensor) -> Calibration:
    """The same of means that were trained on from the mode: widths were trained with them and stay."""
    logits = TrainingLogits.of(model, rows)
    p = (logits.mean / (1 + SHRINKAGE * logits.variance).sqrt()).softmax(-1)
    return _apply(model, _best_factors(model, rows, covariance, logits, p, (0.0,)))


def _best_factors(
    model: Model, rows: Rows, covariance: Tensor, logits: TrainingLogits, p: Tensor, widths: tuple[float, ...]
) -> Calibration:
    """argmin over factors a, b of sum_n CE(softmax(a m / sqrt(1 + 0.2 v))) + (log a / 0.3)^2 / 2 + (log b)^2 / 2.

    where m = the logits of rows that are left out (n, C), v = a^2 (variance by z + b^2 variance by w) (n, C).
    """
    dual = Dual.of(rows, covariance, float(model.logit_scale))
    left_out = leave_one_out_logits(dual.kernel, logits.mean, p, dual.y, dual.weight)

    def shrunk(log_scale: float, log_width: float) -> Tensor:
        of_w = math.exp(2 * log_width) * (logits.variance - logits.variance_of_z)
        variance = SHRINKAGE * math.exp(2 * log_scale) * (logits.variance_of_z + of_w)
        return math.exp(log_scale) * left_out / (1 + variance).sqrt()

    tried = []
    for log_width in widths:
        for log_scale in torch.linspace(-FACTOR_RANGE, FACTOR_RANGE, 25, dtype=torch.float64).tolist():
            nll = (dual.weight * F.cross_entropy(shrunk(log_scale, log_width), dual.y, reduction="none")).sum()
            surprise = (log_scale / FACTOR_DEVIATION) ** 2 + log_width**2
            tried.append((float(nll) + 0.5 * surprise, log_scale, log_width))
    best = min(tried)[1:]
    return Calibration(*best, shrunk(*best).softmax(-1))


def _apply(model: Model, calibration: Calibration) -> Calibration:
    assert isinstance(model.head, DirectHead)
    assert model.head.log_scale is not None
    model.log_logit_scale.add_(calibration.log_scale)
    model.head.log_scale.add_(calibration.log_width)
    return calibration


@torch.no_grad()
def calibrate_regression(model: Model, rows: Rows, residuals: Tensor) -> None:
    """Noise of every task such that noise and model variance together are as large as its leave-one-out errors.

    How far a task of few rows keeps to the errors of all is found from the errors themselves (``error_variances``).
    """
    assert isinstance(model.likelihood, GaussianNoise)
    count = rows.task_weight  # (T,)
    square = count.new_zeros(len(count)).index_add(0, rows.task, rows.weight * residuals.to(rows.x).square())
    error = error_variances(square.cpu().double() / rows.unit, count.cpu().double() / rows.unit).to(count)
    variance = torch.maximum(error - explained_variance(model, rows), LEAST_NOISE * error)
    noise = variance.sqrt().clamp_min(model.likelihood.floor)
    common = (noise.log() * count).sum() / count.sum()
    model.likelihood.log_noise.fill_(float(common))
    if model.likelihood.log_own is not None:
        model.likelihood.log_own.copy_(noise.log() - common)


def explained_variance(model: Model, rows: Rows) -> Tensor:
    """(T,) the mean variance of each task's predictions that comes from z and w."""
    batch = rows.batch(*rows.by_task)
    mean = batch.mean(logit_moments(model.encoder(batch.x), model.q_w()).variance.squeeze(-1))
    return mean * model.logit_scale.square()
