"""How sure a classifier may be: s0 by left-out predictions."""

from __future__ import annotations

import math
from functools import cache

from torch import Tensor
from torch.nn import functional as F

from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_rows
from vmtl.inference.exact.kernel_selection import MAX_ROWS, KernelSelection
from vmtl.inference.exact.laplace import leave_one_out_logits, posterior_mode
from vmtl.inference.exact.leave_one_out import SCALE_RANGE
from vmtl.inference.exact.posterior import Dual

#: Belief about the log of the logit scale of a classifier: centre and deviation.
LOG_SCALE = (math.log(2), 1.0)
#: Factors of the scale that a round of the search tries.
ROUNDS = (2.0, 2**0.5)


def choose_scale(rows: Rows, kernel: KernelSelection, covariance: Tensor, seed: int) -> float:
    """s0 of a classifier under B = ``covariance`` (T, T), by the left-out predictions of the exact model.

    Labels with little signal need a far smaller scale than least squares finds, clear ones a larger. One round after
    the other tries scales about the best so far.
    """
    rows = rows.cpu()
    rows = rows.take(subsample_rows(rows, MAX_ROWS, seed))

    @cache
    def loss(scale: float) -> float:
        surprise = ((math.log(scale) - LOG_SCALE[0]) / LOG_SCALE[1]) ** 2
        return left_out_loss(rows, covariance, kernel.logit_scale(scale)) + 0.5 * surprise

    scale = kernel.scale
    for factor in ROUNDS:
        scale = min((_within(scale * factor**i, SCALE_RANGE) for i in (-2, -1, 0, 1)), key=loss)
    return scale


def left_out_loss(rows: Rows, covariance: Tensor, scale: float) -> float:
    """Cross-entropy of rows that were not seen, in nats, under B = ``covariance`` and the logit scale."""
    dual = Dual.of(rows, covariance, scale)
    logits, _ = posterior_mode(dual.kernel, dual.y, rows.n_classes, dual.weight)
    left_out = leave_one_out_logits(dual.kernel, logits, logits.softmax(-1), dual.y, dual.weight)
    return float((dual.weight * F.cross_entropy(left_out, dual.y, reduction="none")).sum())


def _within(value: float, bounds: tuple[float, float]) -> float:
    return min(max(value, bounds[0]), bounds[1])
