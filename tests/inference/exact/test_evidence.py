"""The evidence: value, gradient and predictions of the dense Gaussian, and structure that is or is not there."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from helpers.toys import toy
from vmtl.inference.exact.evidence import (
    ALIKE,
    Evidence,
    OneDegree,
    Positions,
    cross_predictive_gain,
    evidence_gain,
    maximise,
)


def test_evidence_and_its_gradient_are_those_of_the_dense_gaussian():
    rows = toy([4, 5, 3], classes=3).rows()
    target = torch.randn(12, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    weight = torch.linspace(0.5, 2, 12, dtype=torch.float64)
    evidence = Evidence(rows.x @ rows.x.T, rows.task, target, weight, 3)
    b = torch.tensor([[1, 0.3, -0.2], [0.3, 1, 0.5], [-0.2, 0.5, 1]], dtype=torch.float64, requires_grad=True)
    logs = torch.tensor([0.1, -0.5, -0.3], dtype=torch.float64, requires_grad=True)
    signal, bias, noise = (2 * logs).exp()
    covariance = b[rows.task][:, rows.task] * (signal * (rows.x @ rows.x.T) + bias)
    covariance = covariance + torch.diag(noise / weight)
    law = torch.distributions.MultivariateNormal(torch.zeros(12, dtype=torch.float64), covariance)
    constant = 0.5 * 12 * np.log(2 * np.pi)
    whole = 0.5 * (1 - weight).sum() * noise.log()  # a row of weight w is w rows
    value = sum(law.log_prob(column) + constant + whole for column in target.T) * 2 / 3
    grad_b, grad_logs = torch.autograd.grad(value, [b, logs])
    computed, by_b, by_logs = evidence.value_and_gradient(b.detach(), logs.detach())
    assert computed == pytest.approx(float(value.detach()), rel=1e-10)
    torch.testing.assert_close(by_b, grad_b)
    torch.testing.assert_close(by_logs, grad_logs)


def test_the_predictive_density_is_that_of_the_dense_gaussian():
    rows = toy([4, 5, 3], classes=3).rows()
    target = torch.randn(12, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    evidence = Evidence(rows.x @ rows.x.T, rows.task, target, torch.ones(12, dtype=torch.float64), 3)
    seen = torch.arange(12) % 2 == 0
    optimum = maximise(evidence.subset(seen.nonzero().flatten()), Positions(3))
    signal, bias, noise = (2 * optimum.logs).exp()
    b = ALIKE * optimum.similarity
    b.fill_diagonal_(1)
    covariance = b[rows.task][:, rows.task] * (signal * (rows.x @ rows.x.T) + bias) + noise * torch.eye(12).double()
    gain = covariance[~seen][:, seen] @ torch.linalg.inv(covariance[seen][:, seen])
    rest = (covariance[~seen][:, ~seen] - gain @ covariance[seen][:, ~seen]).diagonal()
    law = torch.distributions.Normal(gain @ target[seen], rest.sqrt()[:, None])
    expected = float((law.log_prob(target[~seen]) + 0.5 * math.log(2 * math.pi)).sum()) * 2 / 3
    assert evidence.log_predictive(optimum, seen) == pytest.approx(expected, rel=1e-9)


def flipped(n_tasks: int, rows: int, flip: bool) -> Evidence:
    """Linear tasks of one rule, the sign of which is turned for every other task if ``flip``."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(n_tasks * rows, 3, generator=generator, dtype=torch.float64)
    task = torch.arange(n_tasks * rows) % n_tasks
    y = x[:, 0] * (torch.where(task % 2 == 0, 1.0, -1.0) if flip else 1.0)
    y = y + 0.1 * torch.randn(len(y), generator=generator, dtype=torch.float64)
    return Evidence(x @ x.T, task, y[:, None], torch.ones(len(y), dtype=torch.float64), n_tasks)


def test_structure_gains_where_there_is_some_and_predicts_the_other_half():
    there, absent = flipped(4, 20, True), flipped(4, 20, False)
    first = torch.arange(80) // 4 % 2 == 0
    gain, similarity = evidence_gain(there)
    assert gain > 10
    assert similarity[0, 2] > 0.5 > -0.2 > similarity[0, 1]
    assert cross_predictive_gain(there, first) > 1
    assert evidence_gain(absent)[0] < 1
    assert abs(cross_predictive_gain(absent, first)) < 0.5


def test_similarities_begin_near_all_alike_with_unit_diagonal():
    for similarity in (Positions(5)(), OneDegree(5)()):
        assert torch.allclose(similarity.diagonal(), torch.ones(5, dtype=torch.float64))
        off = similarity[~torch.eye(5, dtype=torch.bool)]
        assert torch.allclose(off, torch.full_like(off, 0.9))
