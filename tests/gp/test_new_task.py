"""A task more and further rows: against the joint Gaussian of all weights, and refits by scikit-learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import MultivariateNormal

from vmtl.data.rows import Rows
from vmtl.gp.fit import fit
from vmtl.gp.fitted import FittedGP
from vmtl.gp.likelihoods import softmax
from vmtl.gp.new_task import Expectation, update
from vmtl.gp.posterior import WeightPosterior
from vmtl.gp.task_covariance import DenseCovariance, LowRankCovariance, TaskCovariance, exchangeable

S, TAU, A, RHO = 0.9, 0.4, 2.0, 0.6


def known_weights(information: float) -> WeightPosterior:
    """Of four tasks and three features; the more information, the better they are known."""
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(4, 2, 4, generator=generator, dtype=torch.float64)
    told = torch.full((4, 4), information, dtype=torch.float64)
    numbers = torch.tensor([S, TAU, A, RHO], dtype=torch.float64)
    return WeightPosterior(mean=mean, deviation=told, information=told, hyperparameters=numbers).with_deviations()


def test_a_task_of_known_ones_has_the_conditional_gaussian() -> None:
    """Where the known weights are certain: slopes under B, levels under A^2 + tau^2 [t = i]."""
    generator = torch.Generator().manual_seed(1)
    half = torch.randn(5, 9, generator=generator, dtype=torch.float64)
    table = half @ half.T
    table = table / table.diagonal().sqrt() / table.diagonal().sqrt()[:, None]
    known = known_weights(1e9)
    found = Expectation.of_new(known, DenseCovariance(table[:4, :4]), table[4, :4])
    levels = A**2 + TAU**2 * torch.eye(5, dtype=torch.float64)
    for k, prior in ((0, S**2 * table), (2, S**2 * table), (3, levels)):
        weights = torch.linalg.solve(prior[:4, :4], prior[:4, 4])
        for c in range(2):
            assert float(found.mean[c, k]) == pytest.approx(float(weights @ known.mean[:, c, k]), rel=1e-5)
        assert float(found.variance[k]) == pytest.approx(float(prior[4, 4] - weights @ prior[:4, 4]), rel=1e-4)


def test_what_is_not_known_of_the_others_widens_it() -> None:
    """w = sum_i c_i w_i + e: the exact variance of an exchangeable Gaussian whose weights are known up to some rows."""
    told = 3.0
    matrix = (1 - RHO) * torch.eye(5, dtype=torch.float64) + RHO
    precision = torch.linalg.inv(S**2 * matrix)
    rows = torch.diag(torch.tensor([told] * 4 + [0.0]).double()) / S**2
    exact = torch.linalg.inv(precision + rows)[4, 4]
    found = Expectation.of_new(known_weights(told), exchangeable(4, RHO), matrix[4, :4])
    assert float(found.variance[0]) == pytest.approx(float(exact), rel=1e-4)


@pytest.mark.parametrize("covariance", [exchangeable(4, RHO), LowRankCovariance(torch.full((4, 1), RHO**0.5).double())])
def test_an_isolated_task_has_the_prior_of_its_slopes(covariance: TaskCovariance) -> None:
    found = Expectation.of_new(known_weights(5.0), covariance, torch.zeros(4, dtype=torch.float64))
    torch.testing.assert_close(found.mean[:, :3], torch.zeros(2, 3, dtype=torch.float64))
    torch.testing.assert_close(found.variance[:3], torch.full((3,), S**2, dtype=torch.float64))


def rows_of(n: int, classes: int, seed: int = 3) -> Rows:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 3, generator=generator, dtype=torch.float64)
    f = x @ torch.tensor([1.0, -0.5, 0.3]).double() + 0.4 * torch.randn(n, generator=generator, dtype=torch.float64)
    y = torch.bucketize(f, torch.tensor([-0.4, 0.6])[: classes - 1].double()) if classes else f
    weight = torch.linspace(0.5, 2, n, dtype=torch.float64)
    return Rows(x, y, torch.zeros(n, dtype=torch.long), weight, 1, max(1, classes), bool(classes))


def expectation(classes: int) -> Expectation:
    generator = torch.Generator().manual_seed(2)
    mean = 0.5 * torch.randn(max(1, classes), 4, generator=generator, dtype=torch.float64)
    return Expectation(mean, torch.tensor([0.5, 0.2, 0.9, 1.5]).double())


def test_numbers_update_as_bayes_rule_and_left_out_by_refits() -> None:
    rows, expected, noise = rows_of(12, 0), expectation(0), 0.4
    z = torch.cat([rows.x, torch.ones(12, 1, dtype=torch.float64)], 1)

    def posterior(some: Tensor) -> Tensor:
        precision = torch.diag(1 / expected.variance) + (z[some].T * rows.weight[some] / noise**2) @ z[some]
        target = expected.mean[0] / expected.variance + z[some].T @ (rows.weight[some] * rows.y[some]) / noise**2
        return torch.linalg.solve(precision, target)

    found = update(rows, expected, noise, 0)
    torch.testing.assert_close(found.weights[0], posterior(torch.arange(12)))
    for n in range(12):
        rest = torch.arange(12)[torch.arange(12) != n]
        assert float(found.held_out[n, 0]) == pytest.approx(float(z[n] @ posterior(rest)))
    covariance = torch.diag(noise**2 / rows.weight) + z @ torch.diag(expected.variance) @ z.T
    law = MultivariateNormal(z @ expected.mean[0], covariance)
    score = 0.0
    for n in range(12):  # log density of each row given the others
        rest = [i for i in range(12) if i != n]
        inner = MultivariateNormal(law.mean[rest], covariance[rest][:, rest])
        score += float(law.log_prob(rows.y) - inner.log_prob(rows.y[rest])) + 0.5 * np.log(2 * np.pi)
    assert found.log_score == pytest.approx(score)


@pytest.mark.parametrize("classes", [2, 3])
def test_labels_update_to_the_mode(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the slope of the log posterior in the weights is 0."""
    monkeypatch.setattr(softmax, "ITERATIONS", 3000)
    monkeypatch.setattr(softmax, "LEAST_CHANGE", 1e-14)
    rows, expected = rows_of(30, classes), expectation(classes)
    z = torch.cat([rows.x, torch.ones(30, 1, dtype=torch.float64)], 1)
    found = update(rows, expected, 1.0, 0)
    weights = found.weights.clone().requires_grad_()
    loss = (rows.weight * torch.nn.functional.cross_entropy(z @ weights.T, rows.y, reduction="none")).sum()
    loss = loss + 0.5 * ((weights - expected.mean).square() / expected.variance).sum()
    loss.backward()
    assert weights.grad is not None
    assert float(weights.grad.abs().max()) < 1e-4
    assert found.held_out.shape == (30, classes)
    assert found.log_score < 0


# ---- whole models ---------------------------------------------------------------------------------------


def tasks_of(slopes: list[float], n: int, classes: bool, seed: int = 0) -> Rows:
    """Targets that follow the first column by each task's slope."""
    generator = torch.Generator().manual_seed(seed)
    task = torch.arange(len(slopes)).repeat_interleave(n)
    x = torch.randn(len(task), 3, generator=generator, dtype=torch.float64)
    f = 2 * torch.tensor(slopes).double()[task] * x[:, 0] + 0.5 * x[:, 1]
    f = f + 0.3 * torch.randn(len(task), generator=generator, dtype=torch.float64)
    y = (f > 0).long() if classes else f / 2
    ones = torch.ones(len(task), dtype=torch.float64)
    return Rows(x, y, task, ones, len(slopes), 2 if classes else 1, classes)


def only(rows: Rows, task: int) -> Rows:
    some = rows.take((rows.task == task).nonzero().flatten())
    return replace(some, task=torch.zeros_like(some.task), n_tasks=1)


def off(model: FittedGP, rows: Rows, task: int) -> float:
    """Mean loss on rows of one task."""
    x, tasks = rows.x.numpy(), np.full(len(rows.y), task)
    if rows.is_classification:
        p = model.probabilities(x, tasks).probabilities
        return float(-np.log(p[np.arange(len(p)), rows.y.numpy()]).mean())
    return float(np.square(model.values(x, tasks).mean - rows.y.numpy()).mean())


@pytest.mark.parametrize("classes", [True, False])
def test_a_task_of_few_rows_learns_from_the_known_ones(classes: bool) -> None:
    model = fit(tasks_of([1.0] * 5, 40, classes), forest=False)
    few, test = only(tasks_of([1.0], 6, classes, 7), 0), only(tasks_of([1.0], 200, classes, 8), 0)
    wider = model.add_task(few)
    assert wider.n_tasks == 6
    assert off(wider, test, 5) < 1.3 * off(model, test, 0) + 0.02
    for t in range(5):  # known tasks stay as they are
        assert off(wider, test, t) == pytest.approx(off(model, test, t))
    assert len(wider.left_out.score) == len(model.left_out.score) + 6
    assert wider.hyperparameters == model.hyperparameters


@pytest.mark.parametrize("classes", [True, False])
def test_a_task_that_contradicts_is_isolated(classes: bool) -> None:
    model = fit(tasks_of([1.0] * 5, 40, classes), forest=False)
    flipped, test = only(tasks_of([-1.0], 40, classes, 7), 0), only(tasks_of([-1.0], 200, classes, 8), 0)
    wider = model.add_task(flipped)
    assert wider.known.isolated.tolist() == [False] * 5 + [True]
    assert float(wider.structure.sharing[5]) == 0
    assert off(wider, test, 5) < 0.25


@pytest.mark.parametrize("classes", [True, False])
def test_more_rows_of_a_task_are_nearly_a_fit_of_all(classes: bool) -> None:
    rows, test = tasks_of([1.0, 0.2, -0.5], 60, classes, 3), only(tasks_of([-0.5], 300, classes, 103), 0)
    early = rows.take(((rows.task < 2) | (torch.arange(180) < 130)).nonzero().flatten())
    late = rows.take(torch.arange(130, 180))
    late = replace(late, task=torch.zeros_like(late.task), n_tasks=1)
    before, whole = fit(early, forest=False), fit(rows, forest=False)
    more = before.add_rows(2, late)
    assert off(more, test, 2) < off(before, test, 2)
    assert off(more, test, 2) < 1.35 * off(whole, test, 2) + 0.02
    assert float(more.task_rows[2]) == 60
    assert bool((more.weights.deviation[2] < before.weights.deviation[2]).all())
