"""The posterior of all tasks' weights, under the hyperparameters that the search left probable."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl._utils.tensor_module import TensorModule
from vmtl.data.rows import Rows, Sums
from vmtl.gp.error_variances import error_variances
from vmtl.gp.hyperparameter_search import HyperparameterPosterior, HyperparameterSearch
from vmtl.gp.latent_prior import CONSTANT, Gram, LatentPrior
from vmtl.gp.likelihoods import likelihood_of
from vmtl.gp.many_rows import solve_many_rows

#: Most rows with a table of all pairs, and rows squared times classes.
MAX_GRAM_ROWS, MAX_GRAM_CELLS = 2000, 4e7
#: Rows whose moments are computed together.
PART_ROWS = 20_000
#: The largest part that a row may have in its own prediction; the least part of a task's error variance that is noise.
MAX_LEVERAGE, LEAST_NOISE = 0.9, 0.1


@dataclass(frozen=True)
class Solution:
    """Posterior means, or modes, of the weights, and how rows are predicted that were held out."""

    weights: Tensor  # (T, C, K + 1) slopes and, last, level of the outputs
    prior: LatentPrior
    noise: float  # deviation of a row of weight 1
    rows: Rows | None  # the feature rows that were held out; None of too many
    held_out: Tensor | None  # (n, C) their probabilities; (n, 1) errors of a regression


def solve(
    z: Rows,
    gram: Gram,
    search: HyperparameterSearch,
    found: HyperparameterPosterior,
    seed: int,
) -> Solution:
    """The solution for all feature rows ``z``, of which the search has seen those of ``gram``.

    Where these are all rows, it is averaged over the hyperparameters. More rows are solved under the middle of the
    hyperparameters, with a table of all pairs as long as that is small.
    """
    covariance = search.covariance(found.strength, found.decay, found.best.isolated)
    prior = found.latent_prior(covariance)
    n = len(z.task)
    if n == len(gram.rows.task):
        held_out = found.average(lambda point: point.held_out)
        return Solution(found.weights(gram), prior, found.noise, gram.rows, held_out)
    if n > MAX_GRAM_ROWS or z.n_classes * n**2 > MAX_GRAM_CELLS:
        return Solution(solve_many_rows(z, prior, found.noise), prior, found.noise, None, None)
    whole = Gram.of(z.cpu())
    unit = found.noise / z.unit**0.5 if not z.is_classification else 1.0
    point = likelihood_of(whole, seed).evaluate(prior.scaled(1 / unit))
    return Solution(whole.weights(point.dual, point.prior), point.prior, point.noise, whole.rows, point.held_out)


# ---- what the weights say of rows -----------------------------------------------------------------------


class WeightPosterior(TensorModule):
    """q(w) of every task: Gaussian, with one deviation per feature that all outputs share.

    Features are principal components and hardly correlate, so each has a posterior of its own. With w_t = u + e_t,
    var u = rho, var e_t = 1 - rho in units of s^2, and the information d_t = s^2 sum_n h_n z_n^2 of the rows of task t,
    where h = the curvature of the likelihood,

        var u = 1 / (1 / rho + sum_t d_t / (1 + (1 - rho) d_t)),    cov(w_t, w_i) = [t = i] c_t + g_t g_i var u

    where c_t = 1 / (1 / (1 - rho) + d_t), g_t = c_t / (1 - rho), rho = the mean correlation of B: tasks count as alike.
    The level has the prior variance A^2 + tau^2 + s^2 kappa^2, of which A^2 + s^2 kappa^2 rho is shared.
    """

    mean: Tensor  # (T, C, K + 1) of the outputs
    deviation: Tensor  # (T, K + 1) of the outputs
    information: Tensor  # (T, K + 1) d
    hyperparameters: Tensor  # (4,) s, the deviations of a task's own and of the shared level, and rho

    @classmethod
    def of(cls, solution: Solution, z: Rows) -> WeightPosterior:
        """Under one prior in the middle of the hyperparameters."""
        prior, rho = solution.prior, solution.prior.covariance.correlation
        constant = CONSTANT * prior.scale**2
        own, shared = prior.task_level**2 + constant * (1 - rho), prior.shared_level**2 + constant * rho
        numbers = (prior.scale, own**0.5, shared**0.5, rho)
        (information,) = z.total(Information(solution.weights, prior.scale, solution.noise))
        tensors = {"mean": solution.weights, "information": information}
        empty = cls(**tensors, deviation=information, hyperparameters=torch.tensor(numbers, dtype=torch.float64))
        return empty.with_deviations()

    def with_deviations(self) -> WeightPosterior:
        """The same with the deviations that follow from the information."""
        alone, gain, variance_u = self.decomposed()
        deviation = self.units() * (alone + gain.square() * variance_u).sqrt()
        return WeightPosterior(**{**self.to_tensors(), "deviation": deviation})

    def decomposed(self) -> tuple[Tensor, Tensor, Tensor]:
        """c (T, K + 1), g (T, K + 1) and var u (K + 1,), in units of s^2."""
        scale, task_level, shared_level, rho = self.hyperparameters.tolist()
        shared = torch.full_like(self.information[0], rho)
        own = torch.full_like(shared, 1 - rho)
        shared[-1], own[-1] = (shared_level / scale) ** 2, (task_level / scale) ** 2
        shared, own = shared.clamp_min(1e-9), own.clamp_min(1e-9)
        variance_u = 1 / (1 / shared + (self.information / (1 + own * self.information)).sum(0))
        alone = 1 / (1 / own + self.information)
        return alone, alone / own, variance_u

    def variance_of(self, shares: Tensor) -> Tensor:
        """The variance of sum_t shares_t w_t, shares (T, K + 1), of the outputs: (K + 1,)."""
        alone, gain, variance_u = self.decomposed()
        return self.units() ** 2 * ((shares.square() * alone).sum(0) + (shares * gain).sum(0).square() * variance_u)

    def units(self) -> float:
        """s."""
        return float(self.hyperparameters[0])

    def outputs(self, z: Tensor, task: Tensor) -> tuple[Tensor, Tensor]:
        """Mean (n, C) and variance (n,) of the outputs at features z (n, K) of the tasks (n,)."""
        rows = Rows(z, torch.zeros_like(task), task, torch.ones_like(z[:, 0]), len(self.mean), 1, False)
        mean, variance = z.new_empty(len(z), self.mean.shape[1]), z.new_empty(len(z))
        squares = self.deviation.square()
        for block in rows.by_blocks:
            w, v, there = self.mean[block.task], squares[block.task], block.number >= 0  # (G, C, K + 1), (G, K + 1)
            f = torch.baddbmm(w[:, None, :, -1], block.x, w[..., :-1].mT)  # (G, M, C)
            spread = (block.x.square() @ v[:, :-1, None])[..., 0] + v[:, -1:]  # (G, M)
            mean[block.number[there]], variance[block.number[there]] = f[there], spread[there]
        return mean, variance


@dataclass(frozen=True)
class Information:
    """The information of rows about each weight, by how curved the likelihood is at the weights."""

    weights: Tensor  # (T, C, K + 1)
    scale: float  # s
    noise: float

    def __call__(self, rows: Rows) -> Sums:
        """(T, K + 1)."""
        total = torch.zeros(rows.n_tasks, rows.x.shape[1] + 1, dtype=torch.float64)
        for block in rows.by_blocks:
            weight = block.weight.double()
            if rows.is_classification:
                w = self.weights[block.task]
                p = torch.baddbmm(w[:, None, :, -1], block.x, w[..., :-1].mT).softmax(-1)
                h = mean_curvature(p, weight)  # (G, M)
            else:
                h = weight / self.noise**2
            z = F.pad(block.x, (0, 1), value=1.0)
            total.index_add_(0, block.task, (h[:, None] @ z.square())[:, 0])
        return (self.scale**2 * total,)


def mean_curvature(p: Tensor, weight: Tensor) -> Tensor:
    """weight (1 - sum_c p_c^2) / (C - 1), the curvature of the softmax in an average direction: (...)."""
    return (weight * (1 - p.square().sum(-1)) / max(1, p.shape[-1] - 1)).clamp_min(0)


# ---- noise of a regression ------------------------------------------------------------------------------


@dataclass(frozen=True)
class ErrorSums:
    """Sums over the rows of each task: squares of left-out errors, model variance, and how many rows count."""

    posterior: WeightPosterior
    noise: float
    errors: Tensor | None  # (n,) of all rows, where they are known

    def __call__(self, rows: Rows) -> Sums:
        """(T,), (T,), (T,)."""
        mean, variance = self.posterior.outputs(rows.x, rows.task)
        weight = rows.weight.double()
        errors = self.errors
        if errors is None:  # what is left in training, divided by 1 - the row's own part in its prediction
            leverage = (weight * variance / self.noise**2).clamp_max(MAX_LEVERAGE)
            errors = (rows.y.double() - mean[:, 0]) / (1 - leverage)
        weight = weight / rows.unit

        def by_task(values: Tensor) -> Tensor:
            return torch.zeros(rows.n_tasks, dtype=torch.float64).index_add(0, rows.task, weight * values)

        return by_task(errors.square()), by_task(variance), by_task(torch.ones_like(variance))


def task_noise(squares: Tensor, explained: Tensor, count: Tensor) -> Tensor:
    """(T,) deviation of the noise of each task, such that noise and model variance explain its left-out errors.

    The three sums (T,) are those of ``ErrorSums``.
    """
    variance = error_variances(squares, count)
    return torch.maximum(variance - explained / count.clamp_min(1e-12), LEAST_NOISE * variance).sqrt()
