"""Left-out predictions under several structures, against fits that really leave a row out."""

from __future__ import annotations

import math

import torch
from torch.distributions import MultivariateNormal, Normal

from vmtl.data.rows import Rows
from vmtl.inference.exact.posterior import Dual
from vmtl.inference.exact.structure_worth import left_out_density, structure_worth


def make_rows(seed: int, is_classification: bool) -> Rows:
    """Four tasks: two pairs whose weights are opposite."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(80, 3, generator=generator, dtype=torch.float64)
    task = torch.arange(80) % 4
    target = torch.where(task < 2, 1.0, -1.0) * x[:, 0] + 0.1 * torch.randn(80, generator=generator)
    y = (target > 0).long() if is_classification else target.double()
    return Rows(x, y, task, torch.ones(80).double(), 4, 2 if is_classification else 1, is_classification)


PAIRS = torch.block_diag(*2 * [torch.tensor([[1, 0.95], [0.95, 1]])]).double()


def test_the_density_is_that_of_rows_that_were_left_out() -> None:
    rows = make_rows(0, False).take(torch.arange(12))
    noise, scale = 0.3, 1.5
    dual = Dual.of(rows, PAIRS, scale)
    covariance = dual.kernel + noise**2 * torch.eye(12)
    terms = []
    for n in range(12):
        rest = torch.arange(12) != n
        weights = torch.linalg.solve(covariance[rest][:, rest], covariance[rest, n])
        terms.append((rows.y[n] - weights @ rows.y[rest], covariance[n, n] - weights @ covariance[rest, n]))
    error, variance = torch.tensor(terms, dtype=torch.float64).T
    unit = (error.square() / variance).mean()
    naive = -Normal(0.0, (unit * variance).sqrt()).log_prob(error).sum()
    assert math.isclose(left_out_density(rows, PAIRS, scale, noise), float(naive), rel_tol=1e-8)
    whole = MultivariateNormal(torch.zeros(12).double(), covariance).log_prob(rows.y)
    assert not math.isclose(float(naive), -float(whole), rel_tol=1e-3)


def test_the_right_structure_is_worth_more_than_even_alone_or_pooled() -> None:
    for is_classification in (True, False):
        worth = structure_worth(make_rows(1, is_classification), PAIRS, 2.0, 0.2)
        assert list(worth) == ["inferred", "even", "alone", "pooled"]
        assert worth["inferred"] == min(worth.values())
        assert worth["pooled"] == max(worth.values())
