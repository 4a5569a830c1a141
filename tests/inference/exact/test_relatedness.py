"""Relatedness: the exact conditional, the evidence gradient, and known groups of tasks."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.toys import toy
from vmtl import MultiTaskClassifier
from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_evenly
from vmtl.datasets import make_task_groups
from vmtl.inference.exact import relatedness
from vmtl.inference.exact.relatedness import _Evidence, mixture, similarity, uniform_similarity


@pytest.mark.parametrize("n_tasks", [2, 3, 7])
def test_tasks_all_alike_have_the_conditional_of_the_exact_model(n_tasks):
    rho = 0.8
    found = mixture(uniform_similarity(n_tasks), rho)
    b = (1 - rho) * torch.eye(n_tasks, dtype=torch.float64) + rho
    torch.testing.assert_close(found.covariance, b)
    precision = torch.linalg.inv(b)
    torch.testing.assert_close(found.variance, 1 / precision.diagonal())
    weights = -(precision / precision.diagonal()[:, None])
    weights.fill_diagonal_(0)
    torch.testing.assert_close(found.sharing[:, None] * found.alpha, weights)


def test_one_task_alone_shares_nothing():
    found = mixture(uniform_similarity(1), 0.9)
    assert (found.alpha == 0).all()
    assert found.sharing.tolist() == [0.0]
    assert found.variance.tolist() == [1.0]


def test_a_task_unlike_all_others_opts_out_and_is_not_asked():
    s = uniform_similarity(5)
    s[4, :4] = s[:4, 4] = -0.5
    found = mixture(s, 0.9)
    assert found.sharing[4] < 0.01
    assert found.variance[4] > 0.99
    assert found.alpha[:4, 4].max() < 1e-3
    assert found.sharing[:4].min() > 0.8
    assert torch.linalg.eigvalsh(mixture(s.clamp_min(0), 0.9).covariance).min() > 0


def test_mixture_permutes_with_the_tasks():
    s = torch.rand(4, 4, dtype=torch.float64)
    s = (s + s.T) / 2
    s.fill_diagonal_(1)
    order = torch.tensor([2, 0, 3, 1])
    one, other = mixture(s, 0.7), mixture(s[order][:, order], 0.7)
    torch.testing.assert_close(other.alpha, one.alpha[order][:, order])
    torch.testing.assert_close(other.sharing, one.sharing[order])


def test_evidence_and_its_gradient_are_those_of_the_dense_gaussian():
    rows = toy([4, 5, 3], classes=3).rows()
    target = torch.randn(12, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    weight = torch.linspace(0.5, 2, 12, dtype=torch.float64)
    evidence = _Evidence(rows.x @ rows.x.T, rows.task, target, weight, 3)
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
    found, found_b, found_logs = evidence._gradient(b.detach(), logs.detach())
    assert found == pytest.approx(float(value.detach()), rel=1e-10)
    torch.testing.assert_close(found_b, grad_b)
    torch.testing.assert_close(found_logs, grad_logs)


def test_rows_of_hardly_any_weight_do_not_count():
    made = make_task_groups(seed=0).problem
    x, y, task = (torch.as_tensor(value) for value in (made.X, made.y, made.task))
    rows = Rows(x.double(), y, task, torch.ones(len(y), dtype=torch.float64), made.n_tasks, made.n_classes, True)
    rows = rows.take(subsample_evenly(task, 240, 0))
    mirrored = replace(rows, x=-rows.x, weight=1e-9 * rows.weight)
    fields = ("x", "y", "task", "weight")
    both = replace(rows, **{name: torch.cat([getattr(rows, name), getattr(mirrored, name)]) for name in fields})
    torch.testing.assert_close(similarity(both, 0), similarity(rows, 0), atol=1e-3, rtol=0)


def test_rows_are_thinnedevenly():
    task = torch.tensor([0] * 50 + [1] * 5 + [2] * 50)
    kept = subsample_evenly(task, 45, 0)
    assert torch.bincount(task[kept]).tolist() == [20, 5, 20]


def test_structure_that_predicts_nothing_is_chance(monkeypatch):
    """Thirty tasks of a few noisy rows: evidence alone finds structure in them, the other half of the rows none."""
    generator = torch.Generator().manual_seed(0)
    task = torch.arange(150) % 30
    x = torch.randn(150, 8, generator=generator, dtype=torch.float64)
    y = x[:, 0] + torch.randn(150, generator=generator, dtype=torch.float64)
    rows = Rows(x, y, task, torch.ones(150, dtype=torch.float64), 30, 1, False)
    monkeypatch.setattr(relatedness, "GAIN", 0.0)
    assert similarity(rows, 0).min() == 1
    monkeypatch.setattr(relatedness, "FORESIGHT", math.inf)
    assert similarity(rows, 0).min() < 0.9


def test_what_is_foreseen_is_the_density_of_the_dense_gaussian():
    rows = toy([4, 5, 3], classes=3).rows()
    target = torch.randn(12, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    evidence = _Evidence(rows.x @ rows.x.T, rows.task, target, torch.ones(12, dtype=torch.float64), 3)
    seen = torch.arange(12) % 2 == 0
    found = _Evidence(*(v[seen] for v in ((rows.x @ rows.x.T)[:, seen], rows.task, target)), torch.ones(6).double(), 3)
    optimum = found.maximise(True)
    signal, bias, noise = (2 * optimum.logs).exp()
    b = relatedness.ALIKE * optimum.similarity
    b.fill_diagonal_(1)
    covariance = b[rows.task][:, rows.task] * (signal * (rows.x @ rows.x.T) + bias) + noise * torch.eye(12).double()
    gain = covariance[~seen][:, seen] @ torch.linalg.inv(covariance[seen][:, seen])
    rest = (covariance[~seen][:, ~seen] - gain @ covariance[seen][:, ~seen]).diagonal()
    law = torch.distributions.Normal(gain @ target[seen], rest.sqrt()[:, None])
    expected = float((law.log_prob(target[~seen]) + 0.5 * math.log(2 * math.pi)).sum()) * 2 / 3
    assert evidence._predict(optimum, seen) == pytest.approx(expected, rel=1e-9)


def test_tasks_all_alike_stay_uniform():
    rows = toy([20] * 5, classes=3, seed=1).rows()
    assert similarity(rows, 0).min() > 0.99


def test_groups_are_found_and_the_adversary_is_ignored():
    """Two groups of five, one unrelated task and one with flipped labels; three draws."""
    inside, received = [], []
    for seed in range(3):
        drawn = make_task_groups(seed)
        problem, train, group = drawn.problem, drawn.split.train, drawn.group
        model = MultiTaskClassifier(max_steps=30, random_state=0)
        model.fit(problem.X[train], problem.y[train], tasks=problem.tasks[train])
        names = list(problem.task_names)
        alpha = model.alpha_.loc[names, names].to_numpy()
        grouped = np.flatnonzero((group == 0) | (group == 1))
        inside += [alpha[t, group == group[t]].sum() for t in grouped]
        assert (model.sharing_.index == model.alpha_.index).all()
        assert model.sharing_.between(0, 1).all()
        received.append(alpha[group != -1][:, group == -1].mean())
    assert np.mean(inside) > 0.85
    assert np.mean(received) < 0.08
