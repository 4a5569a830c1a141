"""How sure a classifier may be, and how much its tasks share: s0 and rho by left-out predictions."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_rows
from vmtl.inference.exact.kernel_selection import MAX_ROWS, KernelSelection
from vmtl.inference.exact.laplace import leave_one_out_logits, posterior_mode
from vmtl.inference.exact.leave_one_out import SCALE_RANGE
from vmtl.inference.exact.posterior import Dual

#: Beliefs about logit rho and the log of the logit scale of a classifier, centre and deviation; range of logit rho.
LOGIT_RHO, LOG_SCALE, LOGIT_RANGE = (math.log(9), 2.0), (math.log(2), 1.0), (-4.0, 7.0)
#: Factors of the scale and steps of logit rho that a round of the search tries.
ROUNDS = ((2.0, 1.5), (2**0.5, 0.75))


def choose_strength(
    rows: Rows, kernel: KernelSelection, covariance: Callable[[float], Tensor], seed: int
) -> tuple[float, float]:
    """rho and s0 of a classifier, by the left-out predictions of the exact model on the features ``rows.x``.

    ``covariance`` gives B (T, T) for a rho. Labels with little signal need a far smaller scale than least squares
    finds, clear ones a larger. One round after the other tries scales, then correlations, about the best so far;
    where B does not depend on rho, as among tasks that share nothing, rho stays what it is.
    """
    rows = rows.cpu()
    rows = rows.take(subsample_rows(rows, MAX_ROWS, seed))

    @cache
    def loss(scale: float, logit: float) -> float:
        nll = left_out_loss(rows, covariance(_sigmoid(logit)), kernel.logit_scale(scale))
        surprise = ((logit - LOGIT_RHO[0]) / LOGIT_RHO[1]) ** 2
        surprise += ((math.log(scale) - LOG_SCALE[0]) / LOG_SCALE[1]) ** 2
        return nll + 0.5 * surprise

    scale, logit = kernel.scale, _within(math.log(kernel.correlation / (1 - kernel.correlation)), LOGIT_RANGE)
    shares = not torch.equal(covariance(_sigmoid(logit)), covariance(_sigmoid(LOGIT_RANGE[0])))
    for factor, step in ROUNDS:
        scales = (_within(scale * factor**i, SCALE_RANGE) for i in (-2, -1, 0, 1))
        scale = min(scales, key=lambda candidate: loss(candidate, logit))
        if shares:
            logits = (_within(logit + step * i, LOGIT_RANGE) for i in range(-2, 3))
            logit = min(logits, key=lambda candidate: loss(scale, candidate))
    return _sigmoid(logit), scale


def left_out_loss(rows: Rows, covariance: Tensor, scale: float) -> float:
    """Cross-entropy of rows that were not seen, in nats, under B = ``covariance`` and the logit scale."""
    dual = Dual.of(rows, covariance, scale)
    logits, _ = posterior_mode(dual.kernel, dual.y, rows.n_classes, dual.weight)
    left_out = leave_one_out_logits(dual.kernel, logits, logits.softmax(-1), dual.y, dual.weight)
    return float((dual.weight * F.cross_entropy(left_out, dual.y, reduction="none")).sum())


def _sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def _within(value: float, bounds: tuple[float, float]) -> float:
    return min(max(value, bounds[0]), bounds[1])
