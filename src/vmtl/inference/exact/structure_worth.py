"""What the structure of the tasks is worth: how well left-out training rows are predicted with it and without."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from vmtl._utils.cholesky import cholesky
from vmtl.data.rows import Rows
from vmtl.inference.exact.posterior import Dual
from vmtl.inference.exact.strength import left_out_loss, mean_correlation

#: Factors by which the scale of a classifier, or the noise of a regression, may suit another structure better.
FACTORS = (0.5, 1.0, 2.0)


class Structures(NamedTuple):
    """Four covariances B (T, T) of one weight across tasks."""

    inferred: Tensor
    even: Tensor  # every pair has the mean correlation
    alone: Tensor  # I
    pooled: Tensor  # 11'


def structure_worth(rows: Rows, covariance: Tensor, scale: float, noise: float) -> dict[str, float]:
    """Nats per left-out feature row of the exact model under four B, each with the scale that suits it best.

    inferred : B = ``covariance`` (T, T); even : every pair with the mean correlation of B; alone : B = I;
    pooled : B = 11'. Row n is predicted by all others, without a second fit; less is better.
    """
    n_tasks, correlation = len(covariance), mean_correlation(covariance)
    alone, pooled = torch.eye(n_tasks, dtype=torch.float64), torch.ones_like(covariance)
    structures = Structures(covariance, (1 - correlation) * alone + correlation * pooled, alone, pooled)

    def loss(between: Tensor, factor: float) -> float:
        if rows.is_classification:
            return left_out_loss(rows, between, factor * scale)
        return left_out_density(rows, between, scale, factor * noise)

    total = float(rows.weight.sum())
    return {name: _least(lambda factor, b=b: loss(b, factor)) / total for name, b in structures._asdict().items()}  # type: ignore[misc]


def left_out_density(rows: Rows, covariance: Tensor, scale: float, noise: float) -> float:
    """-log N of left-out targets of a regression, in nats, with the unit u of all deviations profiled out.

    sum_n weight_n (e_n^2 / u^2 v_n + log 2 pi u^2 v_n) / 2,    e_n = a_n / Q_nn,    v_n = 1 / Q_nn,    Q = A^-1

    where a = Q y (n,), A = the covariance of the targets (n, n), u^2 = the mean of e_n^2 / v_n.
    """
    dual = Dual.of(rows, covariance, scale)
    inverse = torch.cholesky_inverse(cholesky(dual.kernel + torch.diag(noise**2 / dual.weight)))
    precision = inverse.diagonal()
    square = (inverse @ dual.y.double()).square() / precision  # (n,) e^2 / v
    unit = float((dual.weight @ square / dual.weight.sum()).clamp_min(1e-12))
    logs = dual.weight @ (math.log(2 * math.pi * unit) - precision.log())
    return 0.5 * float(dual.weight @ square / unit + logs)


def _least(loss: Callable[[float], float]) -> float:
    return min(loss(factor) for factor in FACTORS)
