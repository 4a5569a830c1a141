"""What the structure of the tasks is worth: how well left-out training rows are predicted with it and without."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import torch
from torch.nn import functional as F

from vmtl._utils.cholesky import cholesky
from vmtl.data.rows import Rows
from vmtl.inference.exact.laplace import leave_one_out_logits, posterior_mode
from vmtl.inference.exact.output_prior import Dual, OutputPrior
from vmtl.inference.structure.covariance import TaskCovariance, alike

#: Factors by which the scale of a classifier, or the noise of a regression, may suit another structure better.
FACTORS = (0.5, 1.0, 2.0)


class Structures(NamedTuple):
    """Four covariances B of one weight across tasks."""

    inferred: TaskCovariance
    even: TaskCovariance  # every pair has the mean correlation
    alone: TaskCovariance  # I
    pooled: TaskCovariance  # 11'


def structure_worth(rows: Rows, prior: OutputPrior, noise: float) -> dict[str, float]:
    """Nats per left-out feature row of the exact model under four B, each with the scale that suits it best.

    inferred : B of ``prior``; even : every pair with the mean correlation of B; alone : B = I; pooled : B = 11'.
    Row n is predicted by all others, without a second fit; less is better.
    """
    n_tasks, correlation = prior.covariance.n_tasks, prior.covariance.correlation
    structures = Structures(prior.covariance, *(alike(n_tasks, rho) for rho in (correlation, 0.0, 1.0)))

    def loss(between: TaskCovariance, factor: float) -> float:
        if rows.is_classification:
            return left_out_loss(rows, replace(prior, covariance=between, scale=factor * prior.scale))
        return left_out_density(rows, replace(prior, covariance=between), factor * noise)

    total = float(rows.weight.sum())
    return {name: _least(lambda factor, b=b: loss(b, factor)) / total for name, b in structures._asdict().items()}  # type: ignore[misc]


def left_out_loss(rows: Rows, prior: OutputPrior) -> float:
    """Cross-entropy of rows that were not seen, in nats, under a prior of the logits."""
    dual = Dual.of(rows)
    kernel = prior.kernel(dual.gram, dual.task)
    logits = posterior_mode(kernel, dual.y, dual.n_classes, dual.weight).logits
    left_out = leave_one_out_logits(kernel, logits, logits.softmax(-1), dual.y, dual.weight)
    return float((dual.weight * F.cross_entropy(left_out, dual.y, reduction="none")).sum())


def left_out_density(rows: Rows, prior: OutputPrior, noise: float) -> float:
    """-log N of left-out targets of a regression, in nats, with the unit u of all deviations profiled out.

    sum_n weight_n (e_n^2 / u^2 v_n + log 2 pi u^2 v_n) / 2,    e_n = a_n / Q_nn,    v_n = 1 / Q_nn,    Q = A^-1

    where a = Q y (n,), A = the covariance of the targets (n, n), u^2 = the mean of e_n^2 / v_n.
    """
    dual = Dual.of(rows)
    covariance = prior.kernel(dual.gram, dual.task)
    covariance.diagonal().add_(noise**2 / dual.weight)
    inverse = torch.cholesky_inverse(cholesky(covariance))
    precision = inverse.diagonal()
    square = (inverse @ dual.y.double()).square() / precision  # (n,) e^2 / v
    unit = float((dual.weight @ square / dual.weight.sum()).clamp_min(1e-12))
    logs = dual.weight @ (math.log(2 * math.pi * unit) - precision.log())
    return 0.5 * float(dual.weight @ square / unit + logs)


def _least(loss: Callable[[float], float]) -> float:
    return min(loss(factor) for factor in FACTORS)
