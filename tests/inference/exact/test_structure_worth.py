"""Left-out predictions under several structures, against fits that really leave a row out."""

from __future__ import annotations

import math

import pytest
import torch
from torch.distributions import MultivariateNormal, Normal
from torch.nn import functional as F

from helpers.toys import toy
from vmtl.data.rows import Rows
from vmtl.inference.exact.output_prior import Dual, OutputPrior
from vmtl.inference.exact.posterior import solve_classifier
from vmtl.inference.exact.structure_worth import left_out_density, left_out_loss, structure_worth
from vmtl.inference.structure.covariance import DenseCovariance, alike


def make_rows(seed: int, is_classification: bool) -> Rows:
    """Four tasks: two pairs whose weights are opposite."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(80, 3, generator=generator, dtype=torch.float64)
    task = torch.arange(80) % 4
    target = torch.where(task < 2, 1.0, -1.0) * x[:, 0] + 0.1 * torch.randn(80, generator=generator)
    y = (target > 0).long() if is_classification else target.double()
    return Rows(x, y, task, torch.ones(80).double(), 4, 2 if is_classification else 1, is_classification)


PAIRS = DenseCovariance(torch.block_diag(*2 * [torch.tensor([[1, 0.95], [0.95, 1]])]).double())


def test_the_density_is_that_of_rows_that_were_left_out() -> None:
    rows = make_rows(0, False).take(torch.arange(12))
    noise, prior, dual = 0.3, OutputPrior(PAIRS, 1.5, task_level=0.2), Dual.of(rows)
    covariance = prior.kernel(dual.gram, dual.task) + noise**2 * torch.eye(12, dtype=torch.float64)
    terms = []
    for n in range(12):
        rest = torch.arange(12) != n
        weights = torch.linalg.solve(covariance[rest][:, rest], covariance[rest, n])
        terms.append((rows.y[n] - weights @ rows.y[rest], covariance[n, n] - weights @ covariance[rest, n]))
    error, variance = torch.tensor(terms, dtype=torch.float64).T
    unit = (error.square() / variance).mean()
    naive = -Normal(0.0, (unit * variance).sqrt()).log_prob(error).sum()
    assert math.isclose(left_out_density(rows, prior, noise), float(naive), abs_tol=1e-8)
    whole = MultivariateNormal(torch.zeros(12).double(), covariance).log_prob(rows.y)
    assert not math.isclose(float(naive), -float(whole), rel_tol=1e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_loss_of_left_out_rows_is_close_to_refitting(classes: int) -> None:
    rows, prior = toy([8, 7], classes=classes, spread=2.0).rows(), OutputPrior(alike(2, 0.8), 0.7, task_level=0.3)
    total = 0.0
    for n in range(15):
        rest = rows.take(torch.tensor([m for m in range(15) if m != n]))
        w = solve_classifier(rest, prior).weights[rows.task[n]]  # (C, K + 1)
        logits = w[:, :-1] @ rows.x[n] + w[:, -1]
        total += float(F.cross_entropy(logits[None], rows.y[n : n + 1]))
    assert left_out_loss(rows, prior) == pytest.approx(total, rel=0.1)


def test_the_right_structure_is_worth_more_than_even_alone_or_pooled() -> None:
    for is_classification in (True, False):
        worth = structure_worth(make_rows(1, is_classification), OutputPrior(PAIRS, 2.0, task_level=0.2), 0.2)
        assert list(worth) == ["inferred", "even", "alone", "pooled"]
        assert worth["inferred"] == min(worth.values())
        assert worth["pooled"] == max(worth.values())
