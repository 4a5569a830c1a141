"""The choice of kernels: left-out predictions by refits, slopes by finite differences, and what it prefers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import MultivariateNormal

from helpers.toys import toy
from vmtl.data.rows import Rows
from vmtl.gp.kernel_search import (
    CLASSES,
    LEAST_RIDGE,
    TARGETS,
    LeastSquares,
    MixedKernel,
    choose_kernel,
)
from vmtl.gp.kernels import KERNELS, centre, cross_kernels, kernels_for, see
from vmtl.gp.views import Views

NUMBERS = [0, 3, 6, 8]
SHARES = torch.tensor([0.3, -0.2, 0.4, 0.1], dtype=torch.float64)
CENTRE = torch.tensor([0.7, math.log(0.4), math.log(0.3), math.log(5.0)], dtype=torch.float64)


def rows_of(classes: int) -> Rows:
    rows = toy([9, 7, 8], classes=classes, features=3).rows()
    return replace(rows, weight=torch.linspace(0.5, 2, 24, dtype=torch.float64))


def least_squares(classes: int, by_evidence: bool) -> LeastSquares:
    return LeastSquares(rows_of(classes), NUMBERS, CLASSES if classes else TARGETS, by_evidence=by_evidence)


def covariance_of(score: LeastSquares, rows: Rows) -> Tensor:
    """A, entry by entry."""
    kernel = score.kernel(SHARES.softmax(0)).double() + 0.3
    rho = float(CENTRE[0].sigmoid())
    table = torch.zeros(24, 24, dtype=torch.float64)
    for n in range(24):
        for m in range(24):
            table[n, m] = kernel[n, m] * (1.0 if rows.task[n] == rows.task[m] else rho)
        table[n, n] += (0.4 + LEAST_RIDGE) / score.weight[n]
    return table


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_left_out_predictions_are_those_of_refits(classes: int) -> None:
    rows, score = rows_of(classes), least_squares(classes, by_evidence=False)
    table, w = covariance_of(score, rows), score.weight
    predicted, variance = torch.zeros_like(score.target), torch.zeros(24, dtype=torch.float64)
    for n in range(24):
        rest = [i for i in range(24) if i != n]
        weights = torch.linalg.solve(table[rest][:, rest], table[rest, n])
        predicted[n] = weights @ score.target[rest]
        variance[n] = table[n, n] - weights @ table[rest, n]
    if classes:
        log_p = (5.0 * predicted).log_softmax(-1)
        expected = -float(w @ log_p.gather(1, rows.y[:, None])[:, 0])
    else:
        off = (score.target - predicted)[:, 0].square() / variance
        u2 = float(w @ off / w.sum())  # the best scale
        expected = float(0.5 * w @ (variance.log() + math.log(u2) + off / u2)) - 0.5 * float(w.sum())
    expected += float(score._cost(SHARES, CENTRE))
    assert float(score(SHARES, CENTRE)[0]) == pytest.approx(expected, rel=1e-4)


def test_the_evidence_is_the_density_of_the_targets() -> None:
    """With rows of weight 1, as it differs between two places, at the best scale."""
    rows = replace(rows_of(0), weight=torch.ones(24, dtype=torch.float64))
    score = LeastSquares(rows, NUMBERS, TARGETS, by_evidence=True)
    table, zero = covariance_of(score, rows), torch.zeros(24, dtype=torch.float64)
    scales = torch.linspace(-2, 1, 301, dtype=torch.float64).exp()
    best = max(float(MultivariateNormal(zero, u**2 * table).log_prob(score.target[:, 0])) for u in scales)
    expected = -best - 0.5 * 24 * (1 + math.log(2 * math.pi)) + float(score._cost(SHARES, CENTRE))
    assert float(score(SHARES, CENTRE)[0]) == pytest.approx(expected, abs=1e-2)


def test_a_row_of_weight_two_has_the_evidence_of_the_row_twice() -> None:
    """As it differs between two ridges."""
    rows = replace(rows_of(0), weight=torch.ones(24, dtype=torch.float64))
    heavy = LeastSquares(
        replace(rows, weight=1.0 + (torch.arange(24) < 5).double()), NUMBERS, TARGETS, by_evidence=True
    )
    heavy.weight = heavy.weight * heavy.unit
    twice = LeastSquares(rows.take(torch.cat([torch.arange(24), torch.arange(5)])), NUMBERS, TARGETS, by_evidence=True)
    other = CENTRE + torch.tensor([0.0, 1.5, 0.0, 0.0], dtype=torch.float64)
    one, two = (float(score(SHARES, CENTRE)[0] - score(SHARES, other)[0]) for score in (heavy, twice))
    assert one == pytest.approx(two, abs=1e-3)


@pytest.mark.parametrize("by_evidence", [False, True])
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_slopes_are_finite_differences(classes: int, by_evidence: bool) -> None:
    """In single precision, which is what the search needs."""
    score = least_squares(classes, by_evidence)
    place = [SHARES, CENTRE, torch.tensor([0.2, -0.3, 0.4], dtype=torch.float64)]
    unknown = [part.clone().requires_grad_() for part in place]
    score(*unknown)[0].backward()
    for part in range(3):
        for i in range(len(place[part])):
            ends = []
            for side in (1, -1):
                moved = [value.clone() for value in place]
                moved[part][i] += side * 0.02
                ends.append(float(score(*moved)[0]))
            slope = unknown[part].grad
            assert slope is not None
            assert float(slope[i]) == pytest.approx((ends[0] - ends[1]) / 0.04, rel=0.03, abs=0.03)


def test_the_mixture_is_that_of_the_features() -> None:
    """Every kernel centred, with mean diagonal 1: the same numbers as those of a prediction, but for clipping."""
    x, p = rows_of(0).x, torch.full((24,), 1 / 24, dtype=torch.float64)
    numbers = kernels_for(3)
    mixed = MixedKernel(x, p, numbers)
    views = Views.learn(x, p)
    seen = see(views, x, numbers)
    kernels = cross_kernels(seen, seen, numbers)
    for i, v in enumerate(numbers):
        centred = centre(kernels[v], p)
        shares = torch.nn.functional.one_hot(torch.tensor(i), len(numbers)).double()
        expected = centred / (p @ centred.diagonal())
        atol = 0.01 if KERNELS[v].form == "laplace" else 1e-4  # it is rounded off at distance 0
        torch.testing.assert_close(mixed(shares).double(), expected, rtol=0, atol=atol)


def some_rows(bent: bool, n: int = 150) -> Rows:
    """A target that two of six columns make, together or each by itself."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 6))
    y = (x[:, 0] * x[:, 1] if bent else x[:, 0] + x[:, 1]) + 0.1 * rng.normal(size=n)
    ones = torch.ones(n, dtype=torch.float64)
    return Rows(torch.from_numpy(x), torch.from_numpy(y / y.std()), torch.arange(n) % 3, ones, 3, 1, False)


def test_linear_rows_choose_linear_kernels_and_columns_that_count() -> None:
    linear = torch.tensor([kernel.form == "linear" for kernel in KERNELS])
    straight, bent = (choose_kernel(some_rows(flag), 0) for flag in (False, True))
    for choice in (straight, bent):
        assert float(choice.shares.sum()) == pytest.approx(1)
        assert choice.relevance is not None
        assert float(choice.relevance[:2].min()) > float(choice.relevance[2:].max())
    assert float(straight.shares[linear].sum()) > 0.8
    assert float(bent.shares[linear].sum()) < 0.3


@pytest.mark.parametrize("kind", ["one class", "constant", "one row", "constant target"])
def test_rows_that_say_nothing_have_a_choice(kind: str) -> None:
    rows = some_rows(bent=False, n=30)
    if kind == "one class":
        rows = replace(rows, y=torch.zeros(30, dtype=torch.long), n_classes=2, is_classification=True)
    elif kind == "constant":
        rows = replace(rows, x=torch.ones_like(rows.x))
    elif kind == "one row":
        rows = rows.take(torch.arange(1))
    else:
        rows = replace(rows, y=torch.zeros(30, dtype=torch.float64))
    choice = choose_kernel(rows, 0)
    assert bool(choice.shares.isfinite().all())
    assert math.isfinite(choice.signal_to_noise)
