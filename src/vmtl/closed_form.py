"""The exact posterior of a linear-Gaussian model: where a regression starts, and how large its noise is."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl.batches import Rows
from vmtl.heads import DirectHead, logit_moments
from vmtl.likelihoods import GaussianNoise
from vmtl.model import Model
from vmtl.predictive import SHRINKAGE
from vmtl.priors.gumbel_mixture import GumbelMixtureW
from vmtl.priors.standard_normal import StandardNormalW

#: Belief about the log of the factor that calibrates a classifier, and its bound. 0.3 and the upper bound are the
#: first values tried (two splits of 11 sets); with a wider bound the factor ran to 3.2 on SURF, where the variance
#: makes it hardly identifiable.
FACTOR_DEVIATION, FACTOR_RANGE = 0.3, 0.6


def posterior_mean(rows: Rows, covariance: Tensor, scale: float, noise: float) -> tuple[Tensor, Tensor]:
    """E[w | rows] of y = scale w_t . [x; 1] + N(0, noise^2 / weight), cov(w_t, w_t') = B_tt' I: (T, K + 1).

    a = A^-1 y with A = scale^2 B . (x x' + 1) + noise^2 / weight, then w_t = scale sum_n B_{t, t_n} [x_n; 1] a_n.
    Also the leave-one-out residuals a_n / (A^-1)_nn, (n,), 0 for rows of weight 0.
    """
    own = rows.weight.cpu() > 0
    x = torch.cat([rows.x.double().cpu(), torch.ones(len(rows.y), 1, dtype=torch.float64)], 1)[own]
    task, y, weight = rows.task.cpu()[own], rows.y.double().cpu()[own], rows.weight.double().cpu()[own]
    kernel = scale**2 * covariance[task][:, task] * (x @ x.T) + torch.diag(noise**2 / weight)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(kernel))
    solved = inverse @ y
    total = torch.zeros(len(covariance), x.shape[1], dtype=torch.float64).index_add(0, task, x * solved[:, None])
    residual = torch.zeros(len(rows.y), dtype=torch.float64)
    residual[own] = solved / inverse.diagonal()
    return scale * covariance @ total, residual


def applies(model: Model) -> bool:
    """Whether q(w) has means of its own, under a prior whose strength of sharing is not given by hand."""
    own_means = isinstance(model.head, DirectHead) and model.head.log_scale is not None
    by_hand = isinstance(model.prior_w, GumbelMixtureW) and model.settings.sharing is not None
    return own_means and not by_hand


@torch.no_grad()
def start(model: Model, rows: Rows, covariance: Tensor) -> Tensor:
    """Set the means of q(w) to the exact posterior means under B; the leave-one-out residuals of the rows.

    With the noise as it is and z deterministic, these means are the optimum of the objective under N(0, I) and under
    the mixture of the exact model, so neither they nor the noise are trained further; other priors go on from here.
    """
    assert isinstance(model.head, DirectHead)
    assert isinstance(model.likelihood, GaussianNoise)
    scale, noise = float(model.logit_scale), float(model.likelihood.scale()[0])
    means, residual = posterior_mean(rows, covariance, scale, noise)  # (T, K+1)
    model.head.mean.copy_(means[:, None])
    solved = isinstance(model.prior_w, GumbelMixtureW | StandardNormalW)
    model.head.mean.requires_grad_(not solved)
    model.likelihood.requires_grad_(not solved)
    return residual


@torch.no_grad()
def calibrate(model: Model, rows: Rows, residual: Tensor) -> None:
    """Noise of every task such that noise and model variance together are as large as its leave-one-out errors.

    A task of few rows keeps to the errors of all: ten rows' worth of them are added to its own.
    """
    assert isinstance(model.likelihood, GaussianNoise)
    batch = rows.batch(*rows.by_task)
    explained = batch.mean(logit_moments(model.encoder(batch.x), model.q_w()).variance.squeeze(-1))
    explained = explained * model.logit_scale.square()  # (T,)
    square = residual.to(rows.x).square()
    count = rows.task_weight
    own = count.new_zeros(len(count)).index_add(0, rows.task, rows.weight * square)
    error = (own + 10 * own.sum() / count.sum()) / (count + 10)
    noise = torch.maximum(error - explained, 0.1 * error).sqrt().clamp_min(model.likelihood.floor)
    common = (noise.log() * count).sum() / count.sum()
    model.likelihood.log_noise.fill_(float(common))
    if model.likelihood.log_own is not None:
        model.likelihood.log_own.copy_(noise.log() - common)


@torch.no_grad()
def temper(model: Model, rows: Rows, covariance: Tensor) -> None:
    """Multiply the logit scale of a trained classifier by the factor that serves left-out rows best.

    With p the predictive of a training row, K = scale^2 B . (x x' + 1), W = p (1 - p) weight and
    G = (I + W^1/2 K W^1/2)^-1, leaving row n out moves its logit by (y_n - p_n) (1 - 1 / G_nn) / (p_n (1 - p_n)): one
    Newton step, each class on its own. The factor minimises the cross-entropy of the moved logits plus
    (log factor / FACTOR_DEVIATION)^2 / 2.
    """
    own, scale = rows.weight.cpu() > 0, float(model.logit_scale)
    index, mask = rows.by_task
    moments = logit_moments(model.encoder(rows.x[index]), model.q_w())  # (T, M, C)
    mean = torch.zeros(len(rows.y), rows.n_classes, dtype=torch.float64)
    variance = torch.zeros_like(mean)
    mean[index[mask].cpu()] = scale * moments.mean[mask].double().cpu()
    variance[index[mask].cpu()] = scale**2 * moments.variance[mask].double().cpu()
    x, y, task, weight = rows.x.double().cpu()[own], rows.y.cpu()[own], rows.task.cpu()[own], rows.weight.cpu()[own]
    mean, variance, weight = mean[own], variance[own], weight.double()
    kernel = scale**2 * covariance[task][:, task] * (x @ x.T + 1)
    target = F.one_hot(y, rows.n_classes).double()
    p = (mean / (1 + SHRINKAGE * variance).sqrt()).softmax(-1)
    curvature = (p * (1 - p)).clamp_min(1e-6)
    left_out = torch.empty_like(mean)
    for c in range(rows.n_classes):
        root = (weight * curvature[:, c]).sqrt()
        inner = torch.eye(len(y), dtype=torch.float64) + root[:, None] * kernel * root
        diagonal = torch.cholesky_inverse(torch.linalg.cholesky(inner)).diagonal()
        left_out[:, c] = mean[:, c] + (target[:, c] - p[:, c]) * (1 - 1 / diagonal) / curvature[:, c]
    logs = torch.linspace(-FACTOR_RANGE, FACTOR_RANGE, 25, dtype=torch.float64)
    factor = logs.exp()[:, None, None]
    logits = factor * left_out / (1 + SHRINKAGE * factor.square() * variance).sqrt()  # (25, n, C)
    nll = -(weight[:, None] * target * logits.log_softmax(-1)).sum((1, 2))
    best = (nll + 0.5 * (logs / FACTOR_DEVIATION).square()).argmin()
    model.log_logit_scale.add_(float(logs[best]))
