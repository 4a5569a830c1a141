"""How sure the result may be, by what is predicted for left-out training rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl.data.rows import Rows, Sums
from vmtl.inference.exact.error_variances import error_variances
from vmtl.inference.exact.laplace import leave_one_out_logits
from vmtl.inference.exact.output_prior import Dual, OutputPrior
from vmtl.inference.exact.training_moments import TrainingMoments, task_sum
from vmtl.inference.prediction import SHRINKAGE
from vmtl.model.heads import DirectHead
from vmtl.model.likelihoods import GaussianNoise
from vmtl.model.model import Model

#: Belief about the log of the factor that calibrates a classifier, and its bound: the variance makes it hardly
#: identifiable where rows are few.
FACTOR_DEVIATION, FACTOR_RANGE = 0.2, 0.6
#: Log of the most that integration is made up for.
MAX_NEUTRAL = 0.7
#: Logs of the factors that are tried for the width of q(w); the belief about them is N(0, 1).
WIDTHS = (0.0, -0.5, -1.0, -1.5, -2.0, -3.0)
#: More of them where tasks share nothing: few rows that a plane parts want weights of any size, and so any width.
NARROW = (-4.0, -5.0)
#: Most rows that are left out one by one, and the log of the width's factor where there are more.
MAX_LEFT_OUT, TYPICAL_WIDTH = 2000, -1.0
#: A row's own part in its prediction at most.
MAX_LEVERAGE = 0.9
#: Noise is at least this part of a task's error variance.
LEAST_NOISE = 0.1


@dataclass(frozen=True)
class Calibration:
    """The logs of what the logit scale and the widths of q(w) of a classifier were multiplied by."""

    log_scale: float
    log_width: float
    left_out: Tensor  # (n, C) probabilities with these factors; up to MAX_LEFT_OUT each row without itself


@torch.no_grad()
def calibrate_classifier(model: Model, rows: Rows, prior: OutputPrior, moments: TrainingMoments) -> Calibration:
    """Logit scale and width of q(w), its means at the mode, such that left-out rows are predicted best.

    Of many rows none is left out: the mode has the confidence that it has.
    """
    if len(rows.y) > MAX_LEFT_OUT:
        variance = _shrinkage(moments, TYPICAL_WIDTH)
        log_scale = _neutral_factor(moments.mean, variance, rows.weight.cpu().double()[:, None])
        seen = _integrated(moments.mean, variance, log_scale).softmax(-1)
        return _apply(model, Calibration(log_scale, TYPICAL_WIDTH, seen))
    shares_nothing = model.prior_w is not None and model.prior_w.exact == "independent"
    return _apply(model, _best_factors(rows, prior, moments, WIDTHS + NARROW if shares_nothing else WIDTHS))


def _shrinkage(moments: TrainingMoments, log_width: float) -> Tensor:
    """(n, C) k v of the prediction softmax(a m / sqrt(1 + a^2 k v)), with widths of q(w) times exp(log_width)."""
    of_w = moments.variance - moments.variance_of_z
    return SHRINKAGE * (moments.variance_of_z + math.exp(2 * log_width) * of_w)


def _best_factors(rows: Rows, prior: OutputPrior, moments: TrainingMoments, widths: tuple[float, ...]) -> Calibration:
    """argmin over factors a, b of sum_n CE(softmax(a m / sqrt(1 + 0.2 v))) + (log(a / a0) / 0.2)^2 / 2 + (log b)^2 / 2.

    where m = the logits of rows that are left out (n, C), v = a^2 (variance by z + b^2 variance by w) (n, C), a0 = the
    neutral factor of two classes, 1 of more.
    """
    dual, p = Dual.of(rows), moments.mean.softmax(-1)
    left_out = leave_one_out_logits(prior.kernel(dual.gram, dual.task), moments.mean, p, dual.y, dual.weight)
    tried = []
    for log_width in widths:
        variance = _shrinkage(moments, log_width)
        neutral = _neutral_factor(moments.mean, variance) if rows.n_classes == 2 else 0.0
        for departure in torch.linspace(-FACTOR_RANGE, FACTOR_RANGE, 25, dtype=torch.float64).tolist():
            log_scale = neutral + departure
            logits = _integrated(left_out, variance, log_scale)
            nll = (dual.weight * F.cross_entropy(logits, dual.y, reduction="none")).sum()
            surprise = (departure / FACTOR_DEVIATION) ** 2 + log_width**2
            tried.append((float(nll) + 0.5 * surprise, log_scale, log_width))
    log_scale, log_width = min(tried)[1:]
    probabilities = _integrated(left_out, _shrinkage(moments, log_width), log_scale).softmax(-1)
    return Calibration(log_scale, log_width, probabilities)


def _integrated(logits: Tensor, variance: Tensor, log_scale: float) -> Tensor:
    """a m / sqrt(1 + a^2 variance), log a = ``log_scale``: (n, C)."""
    return math.exp(log_scale) * logits / (1 + math.exp(2 * log_scale) * variance).sqrt()


def _neutral_factor(mean: Tensor, variance: Tensor, weight: Tensor | float = 1.0) -> float:
    """log a with which a m / sqrt(1 + a^2 variance) is as large as m, on average over the rows: (n, C) each, (n, 1).

    With few rows the mode of the logits is already close to 0; integrating over q(w) should move confidence from rows
    that are far from all others to rows that are near, and not take it away everywhere.
    """
    square, log_a = weight * mean.square(), 0.0
    for _ in range(20):
        shrunk = square / (1 + math.exp(2 * log_a) * variance)
        log_a = 0.5 * math.log(float(square.sum()) / max(float(shrunk.sum()), 1e-12)) if float(square.sum()) else 0.0
        if log_a > MAX_NEUTRAL:
            return MAX_NEUTRAL
    return log_a


def _apply(model: Model, calibration: Calibration) -> Calibration:
    assert isinstance(model.head, DirectHead)
    assert model.head.log_scale is not None
    model.log_logit_scale.add_(calibration.log_scale)
    model.head.log_scale.add_(calibration.log_width)
    return calibration


@torch.no_grad()
def calibrate_regression(model: Model, rows: Rows, residuals: Tensor | None) -> Tensor:
    """Noise of every task such that noise and model variance together are as large as its leave-one-out errors.

    ``residuals`` = those errors (n,), or None of many rows (``approximate_residuals``). How far a task of few rows
    keeps to the errors of all is found from the errors themselves (``error_variances``): their squares and their number
    are given back, (T, 2).
    """
    assert isinstance(model.likelihood, GaussianNoise)
    square, explained = rows.total(Errors(model, residuals))
    count = rows.task_weight.cpu().double()  # (T,)
    error = error_variances(square / rows.unit, count / rows.unit)
    variance = torch.maximum(error - explained / count, LEAST_NOISE * error)
    deviation = variance.sqrt().clamp_min(model.likelihood.floor)
    common = (deviation.log() * count).sum() / count.sum()
    model.likelihood.log_noise.fill_(float(common))
    if model.likelihood.log_own is not None:
        model.likelihood.log_own.copy_(deviation.log() - common)
    return torch.stack([square, count], 1) / rows.unit


@dataclass(frozen=True)
class Errors:
    """The squares of left-out errors, and how far the model's variance explains them, summed over each task's rows."""

    model: Model
    residuals: Tensor | None  # (n,) of all rows, where they are known

    def __call__(self, rows: Rows) -> Sums:
        """(T,), (T,)."""
        moments, residuals = TrainingMoments.of(self.model, rows), self.residuals
        if residuals is None:
            residuals = approximate_residuals(self.model, rows, moments)
        return task_sum(rows, residuals.square()), task_sum(rows, moments.variance[:, 0])


def approximate_residuals(model: Model, rows: Rows, moments: TrainingMoments) -> Tensor:
    """(n,) what is left in training divided by 1 - h, h = the row's own part in its prediction by the widths."""
    assert isinstance(model.likelihood, GaussianNoise)
    noise = model.likelihood.scale().cpu().double()[rows.task.cpu()]
    own = (rows.weight.cpu() * moments.variance[:, 0] / noise.square()).clamp_max(MAX_LEVERAGE)
    residuals: Tensor = (rows.y.cpu() - moments.mean[:, 0]) / (1 - own)
    return residuals
