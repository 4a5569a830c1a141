"""The exact posterior of a linear-Gaussian model: where a regression starts, and how large its noise is."""

from __future__ import annotations

import torch
from torch import Tensor

from vmtl.batches import Rows
from vmtl.heads import DirectHead, logit_moments
from vmtl.likelihoods import GaussianNoise
from vmtl.model import Model
from vmtl.priors.gumbel_mixture import GumbelMixtureW
from vmtl.priors.standard_normal import StandardNormalW


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
