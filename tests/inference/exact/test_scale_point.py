"""A point of the lattice: its evidence beside torch's law, its solution beside the posterior's."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from scipy.optimize import minimize_scalar
from torch.distributions import MultivariateNormal

from helpers.toys import toy
from vmtl.data.rows import Rows
from vmtl.inference.exact.laplace import left_out_log_likelihood, posterior_mode
from vmtl.inference.exact.output_prior import Dual, OutputPrior
from vmtl.inference.exact.posterior import solve_classifier, solve_regression
from vmtl.inference.exact.scale_point import ClassifierPoints, RegressionPoints
from vmtl.inference.structure.covariance import alike

PRIOR = OutputPrior(alike(3, 0.6), 0.7, task_level=0.4, shared_level=1.5)


def targets() -> tuple[Rows, Dual]:
    rows = toy([6, 4, 5]).rows()
    return rows, Dual.of(rows)


@pytest.mark.parametrize("weight", [1.0, 4.0])
def test_the_evidence_of_targets_is_that_of_a_gaussian_at_its_best_unit(weight: float) -> None:
    """Up to a constant: differences between two priors are compared; all rows alike only move the noise."""
    rows, dual = targets()
    weigh = RegressionPoints(Dual.of(replace(rows, weight=weight * rows.weight)))
    actual, expected = [], []
    for prior in (PRIOR, replace(PRIOR, scale=0.1, task_level=0.9)):
        covariance = prior.kernel(dual.gram, dual.task) + torch.eye(15)

        def density(log_u: float, covariance: torch.Tensor = covariance) -> float:
            law = MultivariateNormal(torch.zeros(15, dtype=torch.float64), math.exp(2 * log_u) * covariance)
            return -float(law.log_prob(rows.y))

        best = minimize_scalar(density, bounds=(-5, 5), method="bounded", options={"xatol": 1e-9})
        point = weigh(prior, (1.0, 1.0), 0.25, None)
        actual.append(point.log_joint)
        expected.append(-best.fun)
        assert point.noise == pytest.approx(math.exp(best.x) * weight**0.5, abs=1e-5)
        assert point.prior.scale == pytest.approx(math.exp(best.x) * prior.scale, abs=1e-5)
    assert actual[0] - actual[1] == pytest.approx(expected[0] - expected[1], abs=1e-6)
    assert weigh(PRIOR, (1.0, 1.0), 0.0, None).log_joint == pytest.approx(actual[0] + 0.25)  # what surprises costs


def test_a_point_holds_the_posterior_of_its_prior() -> None:
    rows, dual = targets()
    point = RegressionPoints(dual)(PRIOR, (1.0, 1.0), 0.0, None)
    solution = solve_regression(rows, point.prior, point.noise)
    torch.testing.assert_close(dual.weights(point.solution, point.prior), solution.weights, atol=1e-8, rtol=0)
    torch.testing.assert_close(point.residuals, solution.residuals, atol=1e-8, rtol=0)
    for classes in (2, 3):
        rows = toy([6, 4, 5], classes=classes).rows()
        point = ClassifierPoints(Dual.of(rows))(PRIOR, (1.0, 1.0), 0.0, None)
        weights = Dual.of(rows).weights(point.solution, PRIOR)
        torch.testing.assert_close(weights, solve_classifier(rows, PRIOR).weights, atol=1e-3, rtol=0)
        assert point.residuals is None


def test_more_than_two_classes_are_also_judged_by_left_out_rows() -> None:
    for classes in (2, 3):
        rows = toy([6, 4, 5], classes=classes).rows()
        point = ClassifierPoints(Dual.of(rows))(PRIOR, (1.0, 1.0), 0.25, None)
        assert (point.log_left_out == point.log_joint) == (classes == 2)
        dual, kernel = Dual.of(rows), PRIOR.kernel(Dual.of(rows).gram, rows.task)
        mode = posterior_mode(kernel, dual.y, classes, dual.weight)
        if classes == 3:
            left_out = left_out_log_likelihood(kernel, mode, dual.y, dual.weight)
            assert point.log_left_out == pytest.approx(left_out - 0.25, abs=1e-3)
