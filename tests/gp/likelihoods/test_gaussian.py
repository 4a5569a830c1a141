"""Gaussian targets: evidence by torch.distributions, left-out errors by leaving rows out, means by scikit-learn."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from sklearn.kernel_ridge import KernelRidge
from torch import Tensor
from torch.distributions import MultivariateNormal, Normal

from helpers.toys import toy
from vmtl.data.rows import Rows
from vmtl.gp.latent_prior import Gram, LatentPrior
from vmtl.gp.likelihoods.gaussian import GaussianLikelihood
from vmtl.gp.task_covariance import exchangeable

PRIOR = LatentPrior(exchangeable(3, 0.6), 0.9, 0.4, 2.0)
ROWS = toy([6, 9, 5]).rows()
HEAVY = replace(ROWS, weight=torch.linspace(0.5, 2.0, 20, dtype=torch.float64))


def noisy(rows: Rows) -> Tensor:
    """The covariance of the targets in units of u^2; a row of the mean weight has noise of about 1."""
    weight = rows.weight / rows.unit
    return Gram.of(rows).kernel(PRIOR) + torch.diag(1 / weight)


def test_the_unit_is_the_best_and_the_score_the_mean_of_evidence_and_left_out_density() -> None:
    """With rows of weight 1, whose evidence is a density."""
    found = GaussianLikelihood(Gram.of(ROWS)).evaluate(PRIOR)
    zero, n = torch.zeros(20, dtype=torch.float64), 20

    def evidence(u: float) -> float:
        return float(MultivariateNormal(zero, u**2 * noisy(ROWS)).log_prob(ROWS.y))

    u = found.noise
    assert evidence(u) > max(evidence(1.05 * u), evidence(u / 1.05))
    precision = torch.linalg.inv(noisy(ROWS)).diagonal()

    def left_out(v: float) -> float:
        return float(Normal(zero, v * precision.rsqrt()).log_prob(found.held_out[:, 0]).sum())

    best = max(torch.linspace(-2, 1, 3001).exp().tolist(), key=left_out)
    dropped = 0.5 * n + 0.5 * n * math.log(2 * math.pi)  # of the evidence; of left-out rows the last alone
    expected = 0.5 * (evidence(u) + dropped + left_out(best) + dropped)
    assert found.log_score == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("rows", [ROWS, HEAVY], ids=["alike", "weighted"])
def test_left_out_errors_are_those_of_a_fit_without_the_row(rows: Rows) -> None:
    found, covariance = GaussianLikelihood(Gram.of(rows)).evaluate(PRIOR), noisy(rows)
    for n in range(20):
        rest = [i for i in range(20) if i != n]
        weights = torch.linalg.solve(covariance[rest][:, rest], covariance[rest, n])
        assert float(found.held_out[n, 0]) == pytest.approx(float(rows.y[n] - weights @ rows.y[rest]))


@pytest.mark.parametrize("rows", [ROWS, HEAVY], ids=["alike", "weighted"])
def test_weights_predict_as_scikit_learns_kernel_ridge(rows: Rows) -> None:
    gram = Gram.of(rows)
    found = GaussianLikelihood(gram).evaluate(PRIOR)
    ours = gram.weights(found.dual, found.prior)
    new = toy([4, 4, 4], seed=5).rows()
    both = replace(rows, x=torch.cat([new.x, rows.x]), task=torch.cat([new.task, rows.task]), y=torch.zeros(32))
    kernel = Gram.of(both).kernel(PRIOR).numpy()
    theirs = KernelRidge(alpha=rows.unit, kernel="precomputed")
    theirs.fit(kernel[12:, 12:], rows.y.numpy(), sample_weight=rows.weight.numpy())
    expected = torch.from_numpy(theirs.predict(kernel[:12, 12:]))
    mean = (ours[new.task, 0, :-1] * new.x).sum(-1) + ours[new.task, 0, -1]
    torch.testing.assert_close(mean, expected)


def test_units_of_targets_and_of_weights_do_not_matter() -> None:
    found = GaussianLikelihood(Gram.of(HEAVY)).evaluate(PRIOR)
    thrice = GaussianLikelihood(Gram.of(replace(HEAVY, y=3 * HEAVY.y))).evaluate(PRIOR)
    heavier = GaussianLikelihood(Gram.of(replace(HEAVY, weight=7 * HEAVY.weight))).evaluate(PRIOR)
    assert thrice.prior.scale == pytest.approx(3 * found.prior.scale)
    assert thrice.noise == pytest.approx(3 * found.noise)
    torch.testing.assert_close(thrice.held_out, 3 * found.held_out)
    torch.testing.assert_close(heavier.held_out, found.held_out)
    assert heavier.noise == pytest.approx(7**0.5 * found.noise)  # of a row of weight 1


def test_targets_that_do_not_vary_are_finite() -> None:
    flat = replace(ROWS, y=torch.zeros_like(ROWS.y))
    found = GaussianLikelihood(Gram.of(flat)).evaluate(PRIOR)
    assert math.isfinite(found.log_score)
    assert bool(found.held_out.isfinite().all() and found.by_row.isfinite().all())
