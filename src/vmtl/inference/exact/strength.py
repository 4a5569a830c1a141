"""How much tasks share and how sure a classifier may be: by the predictions of left-out rows.

Least squares with one kernel, for what tasks share and for what they keep, overrates how much they share: on digits of
three sources its evidence speaks for .88 to .99, while left-out rows are predicted best at .7. So the
structure of the tasks comes from the evidence, but its strength is chosen here: B becomes m B + (1 - m) I, where m, the
part that is kept, is 1 or less.
"""

from __future__ import annotations

import math
from functools import cache

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl._utils.cholesky import cholesky
from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_rows
from vmtl.inference.exact.kernel_selection import MAX_ROWS, KernelSelection
from vmtl.inference.exact.laplace import leave_one_out_logits, posterior_mode
from vmtl.inference.exact.leave_one_out import SCALE_RANGE, TARGETS
from vmtl.inference.exact.posterior import Dual
from vmtl.inference.exact.structure_evidence import Targets

#: Beliefs about the log of the logit scale of a classifier, and about logit rho: centre and deviation.
LOG_SCALE, LOGIT_RHO = (math.log(2), 1.0), (math.log(9), 2.0)
#: Factors of the scale that a round of the search tries.
ROUNDS = (2.0, 2**0.5)
#: The parts of the correlation between tasks that are tried.
KEPT = (1.0, 0.97, 0.9, 0.8, 0.65, 0.5, 0.3)


def weaken(covariance: Tensor, kept: float) -> Tensor:
    """m B + (1 - m) I, m = ``kept``, of B (..., T, T)."""
    eye = torch.eye(covariance.shape[-1], dtype=covariance.dtype)
    return kept * covariance + (1 - kept) * eye


def mean_correlation(covariance: Tensor) -> float:
    """The mean of B between two tasks; 0 where there is one."""
    n_tasks = len(covariance)
    return float((covariance.sum() - n_tasks) / max(1, n_tasks * (n_tasks - 1)))


def choose_strength(rows: Rows, kernel: KernelSelection, covariance: Tensor, seed: int) -> tuple[float, float]:
    """m and s0 of a classifier under B = ``covariance`` (T, T), by the left-out predictions of the exact model.

    Labels with little signal need a far smaller scale than least squares finds, clear ones a larger. One round after
    the other tries scales about the best so far; between the rounds m is chosen, unless tasks share nothing anyway.
    """
    rows = rows.cpu()
    rows = rows.take(subsample_rows(rows, MAX_ROWS, seed))
    rho = mean_correlation(covariance)

    @cache
    def loss(scale: float, kept: float) -> float:
        nll = left_out_loss(rows, weaken(covariance, kept), kernel.logit_scale(scale))
        return nll + _surprise(math.log(scale), LOG_SCALE) + _surprise(_logit(kept * rho), LOGIT_RHO)

    scale, kept = kernel.scale, 1.0
    for factor in ROUNDS:
        scales = (_within(scale * factor**i, SCALE_RANGE) for i in (-2, -1, 0, 1))
        scale = min(scales, key=lambda candidate: loss(candidate, kept))
        if rho > 0:
            kept = min(KEPT, key=lambda candidate: loss(scale, candidate))
    return kept, scale


def choose_regression_strength(targets: Targets, covariance: Tensor, ridge: float) -> float:
    """m of a regression under B = ``covariance``: the Gaussian density of left-out targets, its scale profiled out."""
    rho, belief = mean_correlation(covariance), (TARGETS.centre[0], TARGETS.deviation[0])

    def loss(kept: float) -> float:
        matrix = targets.covariance(weaken(covariance, kept), torch.tensor(ridge, dtype=torch.float64))
        inverse = torch.cholesky_inverse(cholesky(matrix))
        solved, diagonal = inverse @ targets.outputs[:, 0], inverse.diagonal()
        count = targets.weight.sum()
        square = (targets.weight * solved.square() / diagonal).sum() / count
        density = 0.5 * count * square.clamp_min(1e-12).log() - 0.5 * (targets.weight * diagonal.log()).sum()
        return float(density) + _surprise(_logit(kept * rho), belief)

    return min(KEPT, key=loss)


def left_out_loss(rows: Rows, covariance: Tensor, scale: float) -> float:
    """Cross-entropy of rows that were not seen, in nats, under B = ``covariance`` and the logit scale."""
    dual = Dual.of(rows, covariance, scale)
    logits, _ = posterior_mode(dual.kernel, dual.y, rows.n_classes, dual.weight)
    left_out = leave_one_out_logits(dual.kernel, logits, logits.softmax(-1), dual.y, dual.weight)
    return float((dual.weight * F.cross_entropy(left_out, dual.y, reduction="none")).sum())


def _surprise(value: float, belief: tuple[float, float]) -> float:
    """Minus the log density of a Gaussian belief (centre, deviation), up to a constant."""
    return 0.5 * ((value - belief[0]) / belief[1]) ** 2


def _logit(p: float) -> float:
    p = _within(p, (1e-6, 1 - 1e-6))
    return math.log(p / (1 - p))


def _within(value: float, bounds: tuple[float, float]) -> float:
    return min(max(value, bounds[0]), bounds[1])
