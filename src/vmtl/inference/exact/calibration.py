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
from vmtl.inference.exact.output_prior import Dual, OutputPrior
from vmtl.inference.prediction import SHRINKAGE
from vmtl.model.distributions import Delta
from vmtl.model.heads import DirectHead
from vmtl.model.likelihoods import GaussianNoise
from vmtl.model.logits import affine, logit_moments
from vmtl.model.model import Model

#: Belief about the log of the factor that calibrates a classifier, and its bound: the variance makes it hardly
#: identifiable where rows are few.
FACTOR_DEVIATION, FACTOR_RANGE = 0.2, 0.6
#: Log of the most that integration is made up for.
MAX_NEUTRAL = 0.7
#: Logs of the factors that are tried for the width of q(w); the belief about them is N(0, 1).
WIDTHS = (0.0, -0.5, -1.0, -1.5, -2.0, -3.0)
#: Noise is at least this part of a task's error variance.
LEAST_NOISE = 0.1


@dataclass(frozen=True)
class Calibration:
    """The logs of what the logit scale and the widths of q(w) of a classifier were multiplied by."""

    log_scale: float
    log_width: float


def training_outputs(model: Model, rows: Rows) -> Tensor:
    """(n, C) the mean logits, or outputs of a regression, of the training rows."""
    index, mask = rows.by_task
    outputs = model.logit_scale * affine(model.encoder(rows.x[index]).mean, model.q_w().mean)  # (T, M, C)
    flat = outputs.new_zeros(len(rows.y), outputs.shape[-1])
    flat[index[mask]] = outputs[mask]
    return flat


@torch.no_grad()
def training_loss(model: Model, rows: Rows) -> Tensor:
    """(T,) mean loss of each task's training rows at the means."""
    outputs = training_outputs(model, rows)
    if rows.is_classification:
        loss = F.cross_entropy(outputs, rows.y, reduction="none")
    else:
        assert isinstance(model.likelihood, GaussianNoise)
        loss = F.gaussian_nll_loss(outputs[:, 0], rows.y, model.likelihood.scale()[rows.task].square(), reduction="none")
    total = torch.zeros_like(rows.task_weight).index_add(0, rows.task, rows.weight * loss)
    return total / rows.task_weight


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
def calibrate_classifier(model: Model, rows: Rows, prior: OutputPrior) -> Calibration:
    """Logit scale and width of q(w), its means at the mode under B, such that left-out rows are predicted best."""
    logits = TrainingLogits.of(model, rows)
    return _apply(model, _best_factors(rows, prior, logits, logits.mean.softmax(-1), WIDTHS))


@torch.no_grad()
def calibrate_trained_classifier(model: Model, rows: Rows, prior: OutputPrior) -> Calibration:
    """The same of means that were trained on from the mode: widths were trained with them and stay."""
    logits = TrainingLogits.of(model, rows)
    p = (logits.mean / (1 + SHRINKAGE * logits.variance).sqrt()).softmax(-1)
    return _apply(model, _best_factors(rows, prior, logits, p, (0.0,)))


def _best_factors(
    rows: Rows, prior: OutputPrior, logits: TrainingLogits, p: Tensor, widths: tuple[float, ...]
) -> Calibration:
    """argmin over factors a, b of sum_n CE(softmax(a m / sqrt(1 + 0.2 v))) + (log a / 0.3)^2 / 2 + (log b)^2 / 2.

    where m = the logits of rows that are left out (n, C), v = a^2 (variance by z + b^2 variance by w) (n, C).
    """
    dual = Dual.of(rows)
    left_out = leave_one_out_logits(prior.kernel(dual.gram, dual.task), logits.mean, p, dual.y, dual.weight)
    tried = []
    for log_width in widths:
        of_w = math.exp(2 * log_width) * (logits.variance - logits.variance_of_z)
        variance = SHRINKAGE * (logits.variance_of_z + of_w)
        neutral = _neutral_factor(logits.mean, variance)
        for departure in torch.linspace(-FACTOR_RANGE, FACTOR_RANGE, 25, dtype=torch.float64).tolist():
            log_scale = neutral + departure
            shrunk = math.exp(log_scale) * left_out / (1 + math.exp(2 * log_scale) * variance).sqrt()
            nll = (dual.weight * F.cross_entropy(shrunk, dual.y, reduction="none")).sum()
            surprise = (departure / FACTOR_DEVIATION) ** 2 + log_width**2
            tried.append((float(nll) + 0.5 * surprise, log_scale, log_width))
    return Calibration(*min(tried)[1:])


def _neutral_factor(mean: Tensor, variance: Tensor) -> float:
    """log a with which a m / sqrt(1 + a^2 variance) is as large as m, on average over the rows: (n, C) each.

    The mode of the logits is already as near to 0 as few rows ask for; integrating over q(w) shall move confidence from
    rows that are far from all others to those that are near, not take it away from all.
    """
    square, log_a = mean.square(), 0.0
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
