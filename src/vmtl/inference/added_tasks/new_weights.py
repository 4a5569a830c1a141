"""The weights of one task given what all tasks have learned so far, and some further rows of it.

All weights are jointly Gaussian before any row is seen, so given those of the known tasks the weights of another are

    w ~ N(sum_i c_i w_i, v),    c = B^-1 b,    v = 1 - b' c,    b = its correlations with the known tasks (T,)

The known tasks' weights are themselves known up to their posterior, whose means and covariances enter: before its own
rows are seen, weight k of [z; 1] has the mean sum_i c_ik mu_ik and the variance v_k + var(sum_i c_ik w_ik). More rows
of a task that is known are the same with b its row of B: then c picks the task itself, and v = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl._utils.cholesky import cholesky
from vmtl._utils.minimise import minimise
from vmtl.data.rows import Rows
from vmtl.inference.exact.laplace import (
    CURVATURE,
    leave_one_out_logits,
    left_out_log_likelihood,
    log_evidence,
    posterior_mode,
)
from vmtl.inference.exact.output_prior import OutputPrior
from vmtl.inference.exact.widths import WeightPosterior
from vmtl.inference.structure.covariance import TaskCovariance

#: Most rows with a table of all pairs of them, and most that are left out one by one.
MAX_DUAL, MAX_LEFT_OUT = 700, 2000
#: v at least, in units of the prior variance.
LEAST_VARIANCE = 1e-9


@dataclass(frozen=True)
class Sources:
    """From whom a task's weights are expected: c and v of every weight of [z; 1], v in units of s^2."""

    shares: Tensor  # (T, K + 1) c
    variance: Tensor  # (K + 1,) v

    @classmethod
    def of_new(cls, covariance: TaskCovariance, prior: OutputPrior, knows: Tensor) -> Sources:
        """Of the last task of B = ``covariance`` (T + 1, T + 1), given all others.

        ``knows`` (T, K): who has a weight for which feature. Those who have none say nothing about it.
        """
        n_tasks, size = knows.shape
        last = F.one_hot(torch.tensor(n_tasks), n_tasks + 1).double()
        row = covariance.apply(last)[:-1]  # (T,) b
        shares, variance = torch.zeros(n_tasks, size + 1, dtype=row.dtype), torch.ones(size + 1, dtype=row.dtype)
        stages, stage = knows.unique(dim=1, return_inverse=True)
        for number, who in enumerate(stages.T):
            some, features = who.nonzero().flatten(), (stage == number).nonzero().flatten()
            c = covariance.take(some).solve(row[some])
            shares[some[:, None], features] = c[:, None]
            variance[features] = max(1 - float(row[some] @ c), LEAST_VARIANCE)
        shared, own = (level / prior.scale for level in (prior.shared_level, prior.task_level))
        level = shared**2 / (own**2 + n_tasks * shared**2)
        shares[:, -1], variance[-1] = level, own**2 + shared**2 * (1 - n_tasks * level)
        return cls(shares, variance)

    @classmethod
    def of_known(cls, task: int, n_tasks: int, size: int) -> Sources:
        """Of a task that is known itself; ``size`` = K."""
        itself = F.one_hot(torch.tensor(task), n_tasks).double()
        return cls(itself[:, None].expand(-1, size + 1), torch.zeros(size + 1, dtype=torch.float64))


@dataclass(frozen=True)
class ExpectedWeights:
    """The weights of the outputs of one task before its further rows are seen."""

    mean: Tensor  # (C, K + 1)
    variance: Tensor  # (K + 1,) of all classes alike

    @classmethod
    def of(cls, sources: Sources, weights: Tensor, posterior: WeightPosterior, scale: float) -> ExpectedWeights:
        """``weights`` = the known tasks' (T, C, K + 1); ``scale`` = s."""
        variance = posterior.variance_of(sources.shares) + sources.variance
        return cls(torch.einsum("tk,tck->ck", sources.shares, weights), scale**2 * variance)


@dataclass(frozen=True)
class NewWeights:
    """The same after its rows are seen."""

    weights: Tensor  # (C, K + 1) posterior mean of a regression, the mode of a classifier
    outputs: Tensor  # (n, C) of the rows
    left_out: Tensor  # (n, C) what is predicted for each row without itself
    log_evidence: float  # of the rows, to compare one expectation with another


def solve_new(rows: Rows, expected: ExpectedWeights, noise: float) -> NewWeights:
    """The posterior of the rows of one task; ``noise`` = deviation of a regression's noise."""
    z = F.pad(rows.x.double(), (0, 1), value=1.0)  # (n, K + 1)
    if rows.is_classification:
        return _classifier(z, rows.y, rows.weight.double(), expected)
    return _regression(z, rows.y.double(), noise**2 / rows.weight.double(), expected)


def _regression(z: Tensor, y: Tensor, noise: Tensor, expected: ExpectedWeights) -> NewWeights:
    """E[w | rows] of y ~ N(z w, ``noise``), with w = mean + root u, u ~ N(0, I): in u or in the rows, what is less.

    Without itself row n is off by a_n / (A^-1)_nn, A the covariance of the targets and a = A^-1 (y - z mean); that is
    (y_n - f_n) / (1 - h_n), h_n its own part in f_n.
    """
    root = expected.variance.sqrt()
    x, before = z * root, z @ expected.mean[0]
    rest = y - before
    if len(x) <= x.shape[1]:
        covariance = x @ x.T
        covariance.diagonal().add_(noise)
        factor = cholesky(covariance)
        inverse = torch.cholesky_inverse(factor)
        a = inverse @ rest
        u, off = x.T @ a, a / inverse.diagonal()
        log_det = factor.diagonal().log().sum()
    else:
        precise = x / noise[:, None]
        factor = cholesky(torch.eye(x.shape[1], dtype=x.dtype) + x.T @ precise)
        u = torch.cholesky_solve((precise.T @ rest)[:, None], factor)[:, 0]
        half = torch.linalg.solve_triangular(factor, x.T, upper=False)  # (K + 1, n)
        a = (rest - x @ u) / noise
        off = (rest - x @ u) / (1 - half.square().sum(0) / noise).clamp_min(1e-12)
        log_det = factor.diagonal().log().sum() + 0.5 * noise.log().sum()
    value = -0.5 * float(rest @ a) - float(log_det)
    weights = expected.mean + root * u
    return NewWeights(weights, (z @ weights.T), (y - off)[:, None], value)


def _classifier(z: Tensor, y: Tensor, weight: Tensor, expected: ExpectedWeights) -> NewWeights:
    """argmax p(w | rows) of y ~ softmax(z w), every class on its own before."""
    n_classes, before = len(expected.mean), z @ expected.mean.T
    x = z * expected.variance.sqrt()
    if len(z) > MAX_LEFT_OUT:
        weights = _iterate(z, y, weight, expected)
        outputs = z @ weights.T
        return NewWeights(weights, outputs, outputs, -torch.inf)
    kernel = x @ x.T
    if len(z) > MAX_DUAL:
        weights = _iterate(z, y, weight, expected)
        outputs = z @ weights.T
        left_out = leave_one_out_logits(kernel, outputs, outputs.softmax(-1), y, weight)
        return NewWeights(weights, outputs, left_out, -torch.inf)
    mode = posterior_mode(kernel, y, n_classes, weight, expected=before)
    weights = expected.mean + expected.variance * (mode.solution.T @ z)
    left_out = leave_one_out_logits(kernel, mode.logits, mode.logits.softmax(-1), y, weight)
    if n_classes == 2:
        value = log_evidence(kernel, mode, y, weight, before)
    else:
        value = left_out_log_likelihood(kernel, mode, y, weight)
    return NewWeights(weights, mode.logits, left_out, value)


def _iterate(z: Tensor, y: Tensor, weight: Tensor, expected: ExpectedWeights) -> Tensor:
    """The mode of many rows by L-BFGS in u, w = mean + root u, in units in which the second derivative is about 1."""
    told = CURVATURE * expected.variance * (weight @ z.square())
    unit = (1 + told).rsqrt()  # (K + 1,)
    x, before = z * expected.variance.sqrt() * unit, z @ expected.mean.T
    u = torch.zeros_like(expected.mean).requires_grad_()

    def loss() -> Tensor:
        nll = (weight * F.cross_entropy(before + x @ u.T, y, reduction="none")).sum()
        value: Tensor = nll + 0.5 * (unit * u).square().sum()
        return value

    minimise([u], loss, iterations=200, history=10, least_slope=1e-3, least_change=1e-7)
    return expected.mean + expected.variance.sqrt() * unit * u.detach()
