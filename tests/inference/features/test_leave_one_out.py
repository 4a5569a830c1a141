"""The leave-one-out score: its algebra against refitting, its gradient, and what it reports."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from helpers.toys import toy
from vmtl._utils import cholesky
from vmtl.inference.features.leave_one_out import LeaveOneOutScore, Mixture, solve_with_diagonal
from vmtl.inference.features.score import belief_of


@pytest.mark.parametrize("classes", [0, 3])
def test_leave_one_out_equals_refitting_without_the_row(classes):
    rows = toy([5, 7, 4], classes=classes).rows()
    score = LeaveOneOutScore(rows, standardise=False)
    belief = belief_of(rows)
    rho, ridge, bias, temperature = 0.8, 0.3, 0.5, 4.0
    numbers = torch.tensor([math.log(rho / (1 - rho)), math.log(ridge), math.log(bias), math.log(temperature)])
    shares = belief.shares()
    loss = score(shares.log(), numbers.double()).loss
    same = rows.task[:, None] == rows.task
    kernel = torch.where(same, 1.0, rho) * (torch.tensordot(shares, score.mixture.kernels, 1) + bias)
    n, total = len(rows.y), 0.0
    noise = (ridge + 1e-4) * torch.eye(n, dtype=torch.float64)
    errors, variances = [], []
    for i in range(n):
        rest = torch.arange(n) != i
        gain = torch.linalg.solve((kernel + noise)[rest][:, rest], kernel[rest, i])
        prediction = gain @ score.target[rest]
        if classes:
            total -= float(torch.log_softmax(temperature * prediction, 0)[rows.y[i]])
        errors.append(float(score.target[i, 0] - prediction[0]))
        variances.append(float(kernel[i, i] + ridge + 1e-4 - gain @ kernel[rest, i]))
    if not classes:  # density of the left-out targets, the common scale at its best value
        e, v = np.array(errors), np.array(variances)
        total = 0.5 * n * np.log(np.mean(e**2 / v)) + 0.5 * np.log(v).sum()
    centre, deviation = torch.tensor(belief.centre), torch.tensor(belief.deviation)
    away = 0.5 * ((numbers - centre) / deviation).square().sum()
    assert float(loss) == pytest.approx(total + float(away), rel=1e-5)


@pytest.mark.parametrize("classes", [0, 3])
def test_the_gradient_is_that_of_finite_differences(classes, monkeypatch):
    """Of values in double precision, itself to single precision."""
    monkeypatch.setattr(cholesky, "SINGLE_PRECISION", 0.0)
    score = LeaveOneOutScore(toy([5, 7, 4], classes=classes).rows(), standardise=True)
    shares, numbers = score.belief.shares().log(), torch.tensor([1.0, -1.0, -0.5, 1.5], dtype=torch.float64)
    place = (shares.requires_grad_(), numbers.requires_grad_())
    assert torch.autograd.gradcheck(lambda s, n: score(s, n).loss, place, atol=1e-5, rtol=1e-4, nondet_tol=0)


@pytest.mark.parametrize(("limit", "digits"), [(0.0, 10), (1e5, 4)])
def test_solutions_and_the_diagonal_of_the_inverse_have_their_slopes(limit, digits, monkeypatch):
    """Values against the plain formula, slopes in every number against autograd through it."""
    monkeypatch.setattr(cholesky, "SINGLE_PRECISION", limit)
    generator = torch.Generator().manual_seed(0)
    half = torch.randn(3, 6, 6, generator=generator, dtype=torch.float64)
    task, weight = torch.tensor([0, 1, 0, 2, 1, 0]), torch.tensor([1.0, 2.0, 1.0, 3.0, 1.0, 0.5], dtype=torch.float64)
    target = torch.randn(6, 2, generator=generator, dtype=torch.float64)
    mixture = Mixture(half @ half.mT, (task[:, None] == task).double(), weight, target)
    place = [torch.tensor(v, dtype=torch.float64).requires_grad_() for v in ([0.2, 0.5, 0.3], 0.7, 0.4, 0.3)]

    def plain(shares, rho, bias, ridge, mixture):
        kernel = torch.einsum("v,vnm->nm", shares, mixture.kernels) + bias
        inverse = torch.linalg.inv(torch.where(mixture.same_task > 0, 1.0, rho) * kernel + torch.diag(ridge / weight))
        return inverse @ target, inverse.diagonal()

    slopes = []
    actual, expected = solve_with_diagonal(*place, mixture), plain(*place, mixture)
    for solved, diagonal in (actual, expected):
        slopes.append(torch.autograd.grad(solved.sin().sum() + diagonal.log().sum(), place))
    torch.testing.assert_close(actual, expected, atol=10.0**-digits, rtol=0)
    for mine, theirs in zip(*slopes, strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-3, rtol=1e-3)


def test_evaluations_do_not_remember_each_other():
    """A point means the same before and after another one was looked at."""
    score = LeaveOneOutScore(toy([5, 7, 4]).rows(), standardise=False)
    shares, here = score.belief.shares().log(), torch.tensor(score.belief.centre, dtype=torch.float64)
    first, _, again = (score(shares, numbers) for numbers in (here, here + 1, here))
    for name in ("correlation", "scale", "bias", "noise"):
        assert getattr(first, name) == getattr(again, name)
    assert first.correlation == pytest.approx(0.9)
    assert first.bias == pytest.approx(0.3)
