"""The exact model: where the means of q(w) come from, and how sure the result may be.

Given the features, the weights of all tasks are jointly Gaussian with covariance B across tasks. A Gaussian likelihood
then has its posterior mean in closed form, a softmax its mode after some iterations (``vmtl.inference.exact.laplace``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl._utils.cholesky import cholesky
from vmtl.config.settings import Settings
from vmtl.data.rows import Rows
from vmtl.data.subsampling import thin
from vmtl.inference.exact.laplace import left_out, mode
from vmtl.inference.exact.relatedness import mixture
from vmtl.inference.exact.selection import MAX_ROWS, SCALE_RANGE, Selection
from vmtl.inference.prediction import SHRINKAGE
from vmtl.model.distributions import Delta
from vmtl.model.heads import DirectHead, logit_moments
from vmtl.model.likelihoods import GaussianNoise
from vmtl.model.method import Method
from vmtl.model.model import Model

#: Beliefs about logit rho and the log of the logit scale of a classifier, centre and deviation; range of logit rho.
LOGIT_RHO, LOG_SCALE, LOGIT_RANGE = (math.log(9), 2.0), (math.log(2), 1.0), (-4.0, 7.0)
#: Factors of the scale and steps of logit rho that a round of ``refine`` tries.
ROUNDS = ((2.0, 1.5), (2**0.5, 0.75))
#: Belief about the log of the factor that calibrates a classifier, and its bound: the variance makes it hardly
#: identifiable where rows are few.
FACTOR_DEVIATION, FACTOR_RANGE = 0.3, 0.6
#: Grid of nu and of s^2 over the mean square, where tasks have variances of their own.
DEGREES = 2.0 ** torch.arange(2, 13, dtype=torch.float64)
RATIOS = 2.0 ** torch.linspace(-10, 1, 67, dtype=torch.float64)
#: Logs of the factors that are tried for the width of q(w); the belief about them is N(0, 1).
WIDTHS = (0.0, -0.5, -1.0, -1.5, -2.0, -3.0)


@dataclass(frozen=True)
class Dual:
    """The rows of positive weight, with the kernel of their outputs: K = scale^2 B . (x x' + 1)."""

    x: Tensor  # (n, K + 1), the last column 1
    y: Tensor  # (n,)
    task: Tensor  # (n,)
    weight: Tensor  # (n,)
    kernel: Tensor  # (n, n)
    covariance: Tensor  # (T, T) B
    scale: float

    @classmethod
    def of(cls, rows: Rows, covariance: Tensor, scale: float) -> Dual:
        own = rows.weight.cpu() > 0
        x = torch.cat([rows.x.double().cpu(), torch.ones(len(rows.y), 1, dtype=torch.float64)], 1)[own]
        task = rows.task.cpu()[own]
        kernel = scale**2 * covariance[task][:, task] * (x @ x.T)
        return cls(x, rows.y.cpu()[own], task, rows.weight.double().cpu()[own], kernel, covariance, scale)

    def weights(self, solved: Tensor) -> Tensor:
        """w_tc = scale sum_n B_{t, t_n} [x_n; 1] a_nc of the dual solution a (n, C): (T, C, K + 1)."""
        shape = (len(self.covariance), solved.shape[1], self.x.shape[1])
        total = torch.zeros(shape, dtype=torch.float64)
        for t in self.task.unique().tolist():
            own = self.task == t
            total[t] = solved[own].T @ self.x[own]
        weights: Tensor = self.scale * torch.tensordot(self.covariance, total, 1)
        return weights


def posterior_mean(rows: Rows, covariance: Tensor, scale: float, noise: float) -> tuple[Tensor, Tensor]:
    """E[w | rows] of y = scale w_t . [x; 1] + N(0, noise^2 / weight), cov(w_t, w_t') = B_tt' I: (T, 1, K + 1).

    The dual solution is a = A^-1 y with A = K + noise^2 / weight. Also the leave-one-out residuals a_n / (A^-1)_nn,
    (n,), 0 for rows of weight 0.
    """
    dual = Dual.of(rows, covariance, scale)
    inverse = torch.cholesky_inverse(cholesky(dual.kernel + torch.diag(noise**2 / dual.weight)))
    solved = inverse @ dual.y.double()
    residual = torch.zeros(len(rows.y), dtype=torch.float64)
    residual[rows.weight.cpu() > 0] = solved / inverse.diagonal()
    return dual.weights(solved[:, None]), residual


def posterior_mode(rows: Rows, covariance: Tensor, scale: float) -> Tensor:
    """argmax_w p(w | rows) of y ~ softmax(scale w_t . [x; 1]), cov(w_t, w_t') = B_tt' I: (T, C, K + 1).

    The dual solution is a = K^-1 f, f the logits at the mode.
    """
    dual = Dual.of(rows, covariance, scale)
    return dual.weights(mode(dual.kernel, dual.y, rows.n_classes, dual.weight)[1])


def refine(rows: Rows, found: Selection, likeness: Tensor | None, seed: int) -> Selection:
    """Logit scale and rho of a classifier by the left-out predictions of the exact model on the features ``rows.x``.

    Least squares finds the kernel, but not how sure a classifier may be: labels with little signal need a far smaller
    scale, clear ones a larger. Nor did it know the tasks' ``likeness`` S; without one, tasks share nothing. One
    round after the other tries scales, then correlations, about the best so far.
    """
    rows = rows.cpu()
    rows = rows.take(thin(rows, MAX_ROWS, seed))
    unit = found.bias**0.5  # features are divided by it, for a bias of prior variance 1

    @cache
    def loss(scale: float, logit: float) -> float:
        dual = Dual.of(rows, task_covariance(likeness, rows.n_tasks, _sigmoid(logit)), scale * unit)
        logits, _ = mode(dual.kernel, dual.y, rows.n_classes, dual.weight)
        moved = left_out(dual.kernel, logits, logits.softmax(-1), dual.y, dual.weight)
        nll = (dual.weight * F.cross_entropy(moved, dual.y, reduction="none")).sum()
        away = ((logit - LOGIT_RHO[0]) / LOGIT_RHO[1]) ** 2 + ((math.log(scale) - LOG_SCALE[0]) / LOG_SCALE[1]) ** 2
        return float(nll) + 0.5 * away

    scale, logit = found.scale, _within(math.log(found.correlation / (1 - found.correlation)), LOGIT_RANGE)
    for factor, step in ROUNDS:
        scale = min((_within(scale * factor**i, SCALE_RANGE) for i in (-2, -1, 0, 1)), key=lambda s: loss(s, logit))
        if likeness is not None and rows.n_tasks > 1:
            logit = min((_within(logit + step * i, LOGIT_RANGE) for i in range(-2, 3)), key=lambda z: loss(scale, z))
    return replace(found, scale=scale, correlation=_sigmoid(logit))


def task_covariance(likeness: Tensor | None, n_tasks: int, correlation: float) -> Tensor:
    """B of tasks that resemble each other like S; without it, of tasks that share nothing."""
    return torch.eye(n_tasks, dtype=torch.float64) if likeness is None else mixture(likeness, correlation).covariance


def _sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def _within(value: float, bounds: tuple[float, float]) -> float:
    return min(max(value, bounds[0]), bounds[1])


def applies(method: Method, settings: Settings) -> bool:
    """Whether q(w) has means of its own, under a prior whose strength of sharing is not given by hand."""
    by_hand = method.mixes_w and settings.sharing is not None
    return method.head == "direct" and method.q_w == "gaussian" and not by_hand


def solves(method: Method, settings: Settings) -> bool:
    """Whether the means of the exact model are those of q(w): under N(0, I) and the mixture of the exact model."""
    return applies(method, settings) and (method.mixes_w or method.prior_w == "standard_normal")


@torch.no_grad()
def start(model: Model, rows: Rows, covariance: Tensor) -> Tensor | None:
    """Set the means of q(w) to those of the exact model under B; the leave-one-out residuals of a regression.

    With the noise as it is and z deterministic, the posterior means of a regression are the optimum of the objective,
    so neither they nor the noise are trained further. Nor is the mode of a classifier: left-out rows are
    predicted better by it than by the optimum of the objective, whose factorised q(w) is too wide in all the
    directions that no row has seen. Other priors go on from here.
    """
    assert isinstance(model.head, DirectHead)
    scale, residual = float(model.logit_scale), None
    if isinstance(model.likelihood, GaussianNoise):
        means, residual = posterior_mean(rows, covariance, scale, float(model.likelihood.scale()[0]))
    else:
        means = posterior_mode(rows, covariance, scale)
    model.head.mean.copy_(means)
    solved = solves(model.method, model.settings)
    model.head.mean.requires_grad_(not solved)
    model.likelihood.requires_grad_(not solved)
    return residual


@torch.no_grad()
def calibrate(model: Model, rows: Rows, residual: Tensor) -> None:
    """Noise of every task such that noise and model variance together are as large as its leave-one-out errors.

    How far a task of few rows keeps to the errors of all is found from the errors themselves (``error_variances``).
    """
    assert isinstance(model.likelihood, GaussianNoise)
    batch = rows.batch(*rows.by_task)
    explained = batch.mean(logit_moments(model.encoder(batch.x), model.q_w()).variance.squeeze(-1))
    explained = explained * model.logit_scale.square()  # (T,)
    count = rows.task_weight
    own = count.new_zeros(len(count)).index_add(0, rows.task, rows.weight * residual.to(rows.x).square())
    error = error_variances(own.cpu().double() / rows.unit, count.cpu().double() / rows.unit).to(count)
    noise = torch.maximum(error - explained, 0.1 * error).sqrt().clamp_min(model.likelihood.floor)
    common = (noise.log() * count).sum() / count.sum()
    model.likelihood.log_noise.fill_(float(common))
    if model.likelihood.log_own is not None:
        model.likelihood.log_own.copy_(noise.log() - common)


def error_variances(square: Tensor, count: Tensor) -> Tensor:
    """E[s_t^2] of errors e_tn ~ N(0, s_t^2), s_t^2 ~ Scaled-Inv-chi^2(nu, s^2), from their sums of squares: (T,).

    Given nu and s^2 it is (nu s^2 + sum_n e_tn^2) / (nu + n_t - 2); nu and s^2 are averaged over a grid, with the
    probability of all tasks' errors as weight. Tasks with errors alike get one variance, others their own.
    """
    mean = float(square.sum() / count.sum())
    if mean <= 0:  # no errors at all
        return torch.zeros_like(square)
    nu, s2 = torch.meshgrid(DEGREES, mean * RATIOS, indexing="ij")
    nu, s2 = nu.reshape(-1, 1), s2.reshape(-1, 1)  # (G, 1)
    total, n = nu * s2 + square, nu + count  # (G, T)
    log_p = torch.lgamma(n / 2) - torch.lgamma(nu / 2) + nu / 2 * (nu * s2).log() - n / 2 * total.log()
    variance: Tensor = log_p.sum(-1).softmax(0) @ (total / (n - 2))
    return variance


@torch.no_grad()
def temper(model: Model, rows: Rows, covariance: Tensor) -> None:
    """Logit scale, and width of q(w) where its means are solved, such that left-out rows are predicted best.

    Both are multiplied by factors that minimise the cross-entropy of softmax(m / sqrt(1 + 0.2 v)), with m the logits of
    left-out rows (``vmtl.inference.exact.laplace``) and v their variance, plus (log factor / deviation)^2 / 2 for each.
    """
    assert isinstance(model.head, DirectHead)
    assert model.head.log_scale is not None
    index, mask = rows.by_task
    q_z, q_w = model.encoder(rows.x[index]), model.q_w()
    moments, of_z = logit_moments(q_z, q_w), logit_moments(q_z, Delta(q_w.mean)).variance  # (T, M, C)
    order = index[mask].cpu()
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    own = place[rows.weight.cpu() > 0]
    dual = Dual.of(rows, covariance, float(model.logit_scale))
    mean = dual.scale * moments.mean[mask].double().cpu()[own]
    variance = dual.scale**2 * moments.variance[mask].double().cpu()[own]
    of_z = dual.scale**2 * of_z[mask].double().cpu()[own]  # the part that the widths of q(w) have nothing to do with
    solved = solves(model.method, model.settings)
    p = (mean if solved else mean / (1 + SHRINKAGE * variance).sqrt()).softmax(-1)
    moved = left_out(dual.kernel, mean, p, dual.y, dual.weight)
    logs = torch.linspace(-FACTOR_RANGE, FACTOR_RANGE, 25, dtype=torch.float64)
    found = []
    for width in WIDTHS if solved else (0.0,):
        for log in logs.tolist():
            spread = SHRINKAGE * math.exp(2 * log) * (of_z + math.exp(2 * width) * (variance - of_z))
            nll = F.cross_entropy(math.exp(log) * moved / (1 + spread).sqrt(), dual.y, reduction="none")
            away = (log / FACTOR_DEVIATION) ** 2 + width**2
            found.append((float((dual.weight * nll).sum()) + 0.5 * away, log, width))
    _, log, width = min(found)
    model.log_logit_scale.add_(log)
    model.head.log_scale.add_(width)
