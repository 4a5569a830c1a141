"""The evidence of a structure: its value, slopes and information against dense Gaussians and naive loops."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from scipy.optimize import minimize_scalar
from torch import Tensor
from torch.distributions import MultivariateNormal

from helpers.toys import toy
from vmtl.inference.structure.readings.evidence import Targets, log_evidence, separation_information

B = torch.tensor([[1, 0.3, 0.2], [0.3, 1, 0.6], [0.2, 0.6, 1]], dtype=torch.float64)
LAMBDA = torch.tensor(0.4, dtype=torch.float64)


def targets_of(classes: int, weight: list[float] | None = None) -> Targets:
    drawn = toy([5, 6, 4], classes=classes, features=3, seed=2)
    return Targets.of(drawn.rows(weight=weight))  # type: ignore[arg-type]


def dense_covariance(between: Tensor, ridge: Tensor, targets: Targets) -> Tensor:
    """A, row by row."""
    n = len(targets.outputs)
    total = torch.zeros(n, n, dtype=torch.float64)
    for a in range(n):
        for b in range(n):
            total[a, b] = between[targets.task[a], targets.task[b]] * targets.kernel[a, b]
        total[a, a] += ridge / targets.weight[a]
    return total


def best_density(between: Tensor, ridge: Tensor, targets: Targets) -> float:
    """The mean log density of the outputs at the best scale s, by a search."""
    covariance = dense_covariance(between, ridge, targets)
    nothing = torch.zeros(len(covariance), dtype=torch.float64)

    def loss(log_scale: float) -> float:
        law = MultivariateNormal(nothing, math.exp(2 * log_scale) * covariance)
        return -float(law.log_prob(targets.outputs.T).mean())

    optimum = minimize_scalar(loss, bounds=(-6, 6), method="bounded", options={"xatol": 1e-9})
    return -float(optimum.fun)


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_the_value_is_the_density_at_the_best_scale(classes: int) -> None:
    targets = targets_of(classes)
    density = best_density(B, LAMBDA, targets)
    constant = 0.5 * 15 * (math.log(2 * math.pi) + 1)
    free = max(1, classes - 1)
    assert float(log_evidence(B, LAMBDA, targets)) == pytest.approx(free * (density + constant), rel=1e-9)


@pytest.mark.parametrize("classes", [0, 3])
def test_slopes_are_finite_differences(classes: int) -> None:
    targets = targets_of(classes, weight=[0.5, 1.0, 2.0] * 5)

    def value(between: Tensor, ridge: Tensor) -> Tensor:
        return log_evidence((between + between.T) / 2, ridge, targets)

    assert torch.autograd.gradcheck(value, (B.clone().requires_grad_(), LAMBDA.clone().requires_grad_()))


def test_a_row_of_weight_two_is_the_row_twice() -> None:
    """Up to a constant, which no choice of B and lambda changes."""
    once = targets_of(3)
    twice = torch.cat([torch.arange(15), torch.tensor([1, 7])])
    weighted = replace(once, weight=torch.ones(15, dtype=torch.float64).index_fill(0, torch.tensor([1, 7]), 2.0))
    copied = replace(
        once,
        kernel=once.kernel[twice][:, twice],
        outputs=once.outputs[twice],
        task=once.task[twice],
        weight=once.weight[twice],
    )
    places = [(B, LAMBDA), (0.5 * B + 0.5 * torch.eye(3, dtype=torch.float64), 3 * LAMBDA)]
    differences = [float(log_evidence(*place, weighted) - log_evidence(*place, copied)) for place in places]
    assert differences[0] == pytest.approx(differences[1], abs=1e-8)


def test_the_unit_of_weights_and_of_the_target_does_not_matter() -> None:
    rows = toy([5, 6, 4], features=3, seed=2).rows()
    plain = Targets.of(rows)
    other = Targets.of(replace(rows, y=100 * rows.y + 7, weight=3 * rows.weight))
    assert float(log_evidence(B, LAMBDA, other)) == pytest.approx(float(log_evidence(B, LAMBDA, plain)))


def test_a_constant_target_is_finite() -> None:
    rows = toy([5, 6, 4], features=3).rows()
    targets = Targets.of(replace(rows, y=torch.full_like(rows.y, 2.5)))
    between, ridge = B.clone().requires_grad_(), LAMBDA.clone().requires_grad_()
    value = log_evidence(between, ridge, targets)
    slopes = torch.autograd.grad(value, [between, ridge])
    assert value.isfinite()
    assert all(slope.isfinite().all() for slope in slopes)


def covariance_apart(apart: Tensor, targets: Targets) -> Tensor:
    """A where task t stands apart by o_t."""
    eye = torch.eye(3, dtype=torch.float64)
    between = torch.where(eye.bool(), 1.0, B * torch.exp(-apart[:, None] - apart))
    total = between[targets.task][:, targets.task] * targets.kernel
    return total + torch.diag(LAMBDA / targets.weight)


@pytest.mark.parametrize("classes", [0, 3])
def test_information_about_separation_is_the_trace(classes: int) -> None:
    targets = targets_of(classes, weight=[0.5, 1.0, 2.0] * 5)
    inverse = torch.linalg.inv(dense_covariance(B, LAMBDA, targets))
    expected = []
    for t in range(3):
        step = torch.zeros(3, dtype=torch.float64)
        step[t] = 1e-6
        slope = (covariance_apart(step, targets) - covariance_apart(-step, targets)) / 2e-6
        expected.append(0.5 * max(1, classes - 1) * float(torch.trace(inverse @ slope @ inverse @ slope)))
    assert separation_information(B, LAMBDA, targets).tolist() == pytest.approx(expected, rel=1e-6)


def test_information_about_separation_is_the_variance_of_the_score() -> None:
    """Over targets that are drawn from the model."""
    targets = targets_of(0)
    apart = torch.zeros(3, dtype=torch.float64)
    torch.manual_seed(0)
    nothing = torch.zeros(15, dtype=torch.float64)
    drawn = MultivariateNormal(nothing, covariance_apart(apart, targets)).sample((4000,))

    def densities(apart: Tensor) -> Tensor:
        return MultivariateNormal(nothing, covariance_apart(apart, targets)).log_prob(drawn)

    scores = torch.autograd.functional.jacobian(densities, apart)  # (4000, 3)
    torch.testing.assert_close(scores.var(0), separation_information(B, LAMBDA, targets), rtol=0.1, atol=0)
