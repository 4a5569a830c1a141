"""The posterior of the weights: widths against the exact Gaussian, information row by row, noise of tasks."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from helpers.toys import toy
from vmtl.gp.latent_prior import CONSTANT, Gram, LatentPrior
from vmtl.gp.likelihoods.gaussian import GaussianLikelihood
from vmtl.gp.posterior import ErrorSums, Information, Solution, WeightPosterior, mean_curvature, task_noise
from vmtl.gp.task_covariance import exchangeable

RHO = 0.6
PRIOR = LatentPrior(exchangeable(3, RHO), 0.9, 0.4, 2.0)
ROWS = toy([6, 9, 5]).rows()


def solution(weights: Tensor, noise: float = 0.5) -> Solution:
    return Solution(weights, PRIOR, noise, None, None)


def posterior_of_one_feature(design: Tensor, task: Tensor, prior: Tensor, noise: float) -> Tensor:
    """The covariance (T, T) of one weight of all tasks, prior (T, T), by Bayes' rule with a table."""
    table = torch.zeros(len(design), len(prior), dtype=torch.float64)
    table[torch.arange(len(design)), task] = design
    return torch.linalg.inv(torch.linalg.inv(prior) + table.T @ table / noise**2)


def exact_covariances() -> tuple[Tensor, Tensor]:
    """Of the first feature's weight and of the level, each as if it were alone."""
    eye, ones = torch.eye(3, dtype=torch.float64), torch.ones(3, 3, dtype=torch.float64)
    matrix = (1 - RHO) * eye + RHO * ones
    slope = posterior_of_one_feature(ROWS.x[:, 0], ROWS.task, PRIOR.scale**2 * matrix, 0.5)
    level = PRIOR.shared_level**2 * ones + PRIOR.task_level**2 * eye + CONSTANT * PRIOR.scale**2 * matrix
    return slope, posterior_of_one_feature(torch.ones(20, dtype=torch.float64), ROWS.task, level, 0.5)


def test_deviations_are_those_of_the_exact_gaussian_of_each_feature() -> None:
    """The level, too, whose prior holds the constant feature."""
    found = WeightPosterior.of(solution(torch.zeros(3, 1, 7, dtype=torch.float64)), ROWS)
    slope, level = exact_covariances()
    torch.testing.assert_close(found.deviation[:, 0], slope.diagonal().sqrt(), rtol=1e-5, atol=0)
    torch.testing.assert_close(found.deviation[:, -1], level.diagonal().sqrt(), rtol=1e-5, atol=0)


def test_the_variance_of_a_mixture_of_tasks_is_that_of_the_exact_gaussian() -> None:
    found = WeightPosterior.of(solution(torch.zeros(3, 1, 7, dtype=torch.float64)), ROWS)
    shares = torch.tensor([0.7, -0.2, 0.4], dtype=torch.float64)
    slope, level = exact_covariances()
    variance = found.variance_of(shares[:, None].expand(3, 7))
    assert float(variance[0]) == pytest.approx(float(shares @ slope @ shares), rel=1e-5)
    assert float(variance[-1]) == pytest.approx(float(shares @ level @ shares), rel=1e-5)


@pytest.mark.parametrize("rho", [0.0, 1.0])
def test_tasks_apart_and_pooled_tasks_are_finite(rho: float) -> None:
    prior = LatentPrior(exchangeable(3, rho), 0.9, 1e-6, 1e-6)
    found = WeightPosterior.of(replace(solution(torch.zeros(3, 1, 7).double()), prior=prior), ROWS)
    assert bool(found.deviation.isfinite().all())
    assert float(found.deviation.min()) >= 0
    if rho == 0:
        alone = 0.9 / (1 + 0.81 * ROWS.x[ROWS.task == 0, 0].square().sum() / 0.25).sqrt()
        assert float(found.deviation[0, 0]) == pytest.approx(float(alone), rel=1e-4)


def test_outputs_are_those_of_each_row() -> None:
    generator = torch.Generator().manual_seed(0)
    found = WeightPosterior.of(solution(torch.randn(3, 2, 7, generator=generator, dtype=torch.float64)), ROWS)
    order = torch.randperm(20, generator=generator)
    z, task = ROWS.x[order], ROWS.task[order]
    mean, variance = found.outputs(z, task)
    for n in range(20):
        row = torch.cat([z[n], torch.ones(1, dtype=torch.float64)])
        torch.testing.assert_close(mean[n], found.mean[task[n]] @ row)
        torch.testing.assert_close(variance[n], found.deviation[task[n]].square() @ row.square())


@pytest.mark.parametrize("classes", [2, 4])
def test_the_information_of_labels_is_the_curvature_of_the_cross_entropy(classes: int) -> None:
    """On average over directions of the logits that sum to 0: the mean eigenvalue of the second derivative there."""
    rows = toy([6, 9, 5], classes=classes).rows(weight=torch.linspace(0.5, 2, 20).numpy())
    weights = torch.randn(3, classes, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    (found,) = Information(weights, 0.9, 1.0)(rows)
    expected = torch.zeros(3, 7, dtype=torch.float64)
    for n in range(20):
        row = torch.cat([rows.x[n], torch.ones(1, dtype=torch.float64)])
        logits = weights[rows.task[n]] @ row
        curvature = torch.autograd.functional.hessian(lambda f: f.logsumexp(0), logits)
        mean = curvature.trace() / (classes - 1)
        expected[rows.task[n]] += 0.81 * rows.weight[n] * mean * row.square()
    torch.testing.assert_close(found, expected)


def test_one_class_has_no_curvature() -> None:
    assert float(mean_curvature(torch.ones(3, 1), torch.ones(3)).abs().max()) == 0


def test_error_sums_are_those_of_each_task() -> None:
    rows = replace(ROWS, weight=torch.linspace(0.5, 2, 20, dtype=torch.float64))
    found = GaussianLikelihood(Gram.of(rows)).evaluate(PRIOR)
    posterior = WeightPosterior.of(
        Solution(Gram.of(rows).weights(found.dual, found.prior), found.prior, 0.5, None, None), rows
    )
    errors = found.held_out[:, 0]
    squares, explained, count = ErrorSums(posterior, 0.5, errors)(rows)
    mean, variance = posterior.outputs(rows.x, rows.task)
    for t in range(3):
        own = rows.task == t
        weight = rows.weight[own] / rows.unit
        assert float(squares[t]) == pytest.approx(float(weight @ errors[own].square()))
        assert float(explained[t]) == pytest.approx(float(weight @ variance[own]))
        assert float(count[t]) == pytest.approx(float(weight.sum()))
    guessed = ErrorSums(posterior, 0.5, None)(rows)[0]  # from training errors, where left-out ones are not known
    training = torch.zeros(3, dtype=torch.float64)
    training.index_add_(0, rows.task, rows.weight / rows.unit * (rows.y - mean[:, 0]).square())
    assert bool((guessed > training).all())


def test_noise_is_what_the_model_does_not_explain_and_never_nothing() -> None:
    squares, count = torch.full((40,), 30.0, dtype=torch.float64), torch.full((40,), 30.0, dtype=torch.float64)
    noise = task_noise(squares, 0.3 * count, count)
    torch.testing.assert_close(noise.square(), torch.full_like(noise, 0.7), rtol=0.05, atol=0)
    most = task_noise(squares, 5.0 * count, count)  # more than there is
    torch.testing.assert_close(most.square(), torch.full_like(noise, 0.1), rtol=0.05, atol=0)
    nothing = task_noise(torch.zeros(3).double(), torch.zeros(3).double(), torch.ones(3).double())
    assert nothing.tolist() == [0.0] * 3
