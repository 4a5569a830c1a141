"""The weights of a further task: the joint Gaussian of all tasks, conditioned the long way."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from scipy.linalg import hadamard
from torch import Tensor
from torch.nn import functional as F

from vmtl.data.rows import Rows
from vmtl.inference.added_tasks import new_weights
from vmtl.inference.added_tasks.new_weights import ExpectedWeights, Sources, solve_new
from vmtl.inference.exact.output_prior import OutputPrior
from vmtl.inference.exact.posterior import solve_classifier, solve_regression
from vmtl.inference.exact.widths import WeightPosterior, information
from vmtl.inference.structure.covariance import DenseCovariance, alike

SCALE, TASK_LEVEL, SHARED_LEVEL, NOISE = 0.7, 0.4, 2.0, 0.3


def orthogonal_rows(n_tasks: int, n_classes: int = 1, seed: int = 0) -> Rows:
    """Tasks of eight rows whose features and constant are orthogonal: the posterior of each weight is on its own."""
    generator = torch.Generator().manual_seed(seed)
    table = torch.from_numpy(hadamard(8)).double()[:, 1:]
    x = torch.cat([(0.3 + t) * table for t in range(n_tasks)])
    task = torch.arange(n_tasks).repeat_interleave(8)
    real = torch.randn(len(x), generator=generator, dtype=torch.float64)
    y = real if n_classes == 1 else torch.randint(n_classes, (len(x),), generator=generator)
    return Rows(x, y, task, torch.ones(len(x), dtype=torch.float64), n_tasks, n_classes, n_classes > 1)


def further_rows(n: int, n_classes: int = 1) -> Rows:
    generator = torch.Generator().manual_seed(n)
    x = torch.randn(n, 7, generator=generator, dtype=torch.float64)
    y = torch.randn(n, generator=generator, dtype=torch.float64)
    if n_classes > 1:
        y = torch.randint(n_classes, (n,), generator=generator)
    weight = 0.5 + torch.rand(n, generator=generator, dtype=torch.float64)
    return Rows(x, y, torch.zeros(n, dtype=torch.long), weight, 1, n_classes, n_classes > 1)


def prior_of(n_tasks: int, rho: float) -> OutputPrior:
    return OutputPrior(alike(n_tasks, rho), SCALE, TASK_LEVEL, SHARED_LEVEL)


def joined(rows: Rows, new: Rows, task: int) -> Rows:
    """All rows together, the new ones with this number."""
    parts = {name: torch.cat([getattr(rows, name), getattr(new, name)]) for name in ("x", "y", "weight")}
    number = torch.cat([rows.task, torch.full_like(new.task, task)])
    return replace(rows, **parts, task=number, n_tasks=max(rows.n_tasks, task + 1))


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.98])
@pytest.mark.parametrize("n", [3, 30])
@pytest.mark.parametrize("new", [True, False])
def test_a_regression_is_what_all_rows_together_say(rho: float, n: int, new: bool) -> None:
    rows, more = orthogonal_rows(3), further_rows(n)
    number = 3 if new else 1
    prior = prior_of(3, rho)
    known = solve_regression(rows, prior, NOISE).weights
    told = information(rows, rows.weight / NOISE**2, SCALE)
    size = rows.x.shape[1]
    sources = Sources.of_known(1, 3, size)
    if new:
        sources = Sources.of_new(alike(4, rho), prior, torch.ones(3, size, dtype=torch.bool))
    expected = ExpectedWeights.of(sources, known, WeightPosterior.of(told, prior), SCALE)
    solved = solve_new(more, expected, NOISE)
    together = joined(rows, more, number)
    whole = solve_regression(together, prior_of(4 if new else 3, rho), NOISE)
    torch.testing.assert_close(solved.weights, whole.weights[number], rtol=1e-6, atol=1e-8)
    assert whole.residuals is not None
    torch.testing.assert_close(more.y - solved.left_out[:, 0], whole.residuals[-n:], rtol=1e-6, atol=1e-8)


def test_the_evidence_is_the_density_of_the_targets() -> None:
    """By rows and by weights: log N(y; z mean, z V z' + noise), up to a constant of the number of rows."""
    mean, variance = torch.linspace(-1, 1, 8).double()[None], torch.linspace(0.1, 2, 8).double()
    for n in (4, 20):
        rows = further_rows(n)
        z = F.pad(rows.x, (0, 1), value=1.0)
        covariance = z @ torch.diag(variance) @ z.T + torch.diag(NOISE**2 / rows.weight)
        density = torch.distributions.MultivariateNormal(z @ mean[0], covariance).log_prob(rows.y)
        value = solve_new(rows, ExpectedWeights(mean, variance), NOISE).log_evidence
        assert value - 0.5 * n * math.log(2 * math.pi) == pytest.approx(float(density), abs=1e-8)


def test_the_sources_are_those_of_the_joint_gaussian() -> None:
    """c = -P_i / P and v = 1 / P of the precision of all tasks, the last of them new."""
    generator = torch.Generator().manual_seed(0)
    root = torch.randn(5, 9, generator=generator, dtype=torch.float64)
    matrix = root @ root.T
    deviation = matrix.diagonal().sqrt()
    matrix = matrix / deviation[:, None] / deviation
    knows = torch.tensor([[True, True], [True, False], [True, True], [True, False]])
    covariance = DenseCovariance(matrix[:4, :4]).with_task(matrix[4, :4])
    sources = Sources.of_new(covariance, prior_of(4, 0.5), knows)
    for feature, who in enumerate(knows.T):  # those who have no weight for a feature say nothing about it
        members = [*who.nonzero().flatten().tolist(), 4]
        precision = torch.linalg.inv(matrix[members][:, members])[-1]
        torch.testing.assert_close(sources.shares[who, feature], -precision[:-1] / precision[-1])
        assert not sources.shares[~who, feature].any()
        assert float(sources.variance[feature]) == pytest.approx(float(1 / precision[-1]))
    levels = SHARED_LEVEL**2 / SCALE**2 + TASK_LEVEL**2 / SCALE**2 * torch.eye(5, dtype=torch.float64)
    precision = torch.linalg.inv(levels)[4]
    torch.testing.assert_close(sources.shares[:, -1], -precision[:4] / precision[4])
    assert float(sources.variance[-1]) == pytest.approx(float(1 / precision[4]))


def slope_of_posterior(weights: Tensor, rows: Rows, expected: ExpectedWeights) -> Tensor:
    """The gradient of minus the log posterior density, by automatic differentiation."""
    w = weights.clone().requires_grad_()
    logits = F.pad(rows.x, (0, 1), value=1.0) @ w.T
    loss = (rows.weight * F.cross_entropy(logits, rows.y, reduction="none")).sum()
    (loss + 0.5 * ((w - expected.mean).square() / expected.variance).sum()).backward()
    assert w.grad is not None
    return w.grad


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("most", [(700, 2000), (10, 2000), (10, 10)])
def test_a_classifier_is_at_its_mode(n_classes: int, most: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_weights, "MAX_DUAL", most[0])
    monkeypatch.setattr(new_weights, "MAX_LEFT_OUT", most[1])
    rows = further_rows(25, n_classes)
    mean = torch.randn(n_classes, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    mean -= mean.mean(0)
    expected = ExpectedWeights(mean, torch.linspace(0.2, 3, 8).double())
    solved = solve_new(rows, expected, 1.0)
    assert float(slope_of_posterior(solved.weights, rows, expected).abs().max()) < 5e-3
    torch.testing.assert_close(solved.outputs, F.pad(rows.x, (0, 1), value=1.0) @ solved.weights.T, rtol=0, atol=1e-3)


def test_a_left_out_row_is_predicted_as_if_it_had_not_been_seen() -> None:
    rows = further_rows(25, 3)
    expected = ExpectedWeights(torch.zeros(3, 8, dtype=torch.float64), torch.full((8,), 0.5, dtype=torch.float64))
    solved = solve_new(rows, expected, 1.0)
    for n in range(5):
        without = solve_new(rows.take(torch.tensor([i for i in range(25) if i != n])), expected, 1.0)
        logits = F.pad(rows.x[n], (0, 1), value=1.0) @ without.weights.T
        torch.testing.assert_close(solved.left_out[n].softmax(-1), logits.softmax(-1), rtol=0, atol=0.05)


def test_a_classifier_is_close_to_all_rows_together() -> None:
    """Laplace's approximation is not exact in two steps: probabilities agree to a few hundredths."""
    rows, more = orthogonal_rows(3, 2), further_rows(12, 2)
    prior = prior_of(3, 0.9)
    known = solve_classifier(rows, prior).weights
    logits = torch.einsum("nk,nck->nc", F.pad(rows.x, (0, 1), value=1.0), known[rows.task])
    p = logits.softmax(-1)[:, 1]
    told = information(rows, 2 * p * (1 - p), SCALE)
    sources = Sources.of_new(alike(4, 0.9), prior, torch.ones(3, rows.x.shape[1], dtype=torch.bool))
    solved = solve_new(more, ExpectedWeights.of(sources, known, WeightPosterior.of(told, prior), SCALE), 1.0)
    whole = solve_classifier(joined(rows, more, 3), prior_of(4, 0.9)).weights[3]
    z = F.pad(more.x, (0, 1), value=1.0)
    torch.testing.assert_close((z @ solved.weights.T).softmax(-1), (z @ whole.T).softmax(-1), rtol=0, atol=0.08)
