"""Mixing weights: the exact conditional of B, as the regression of a task on the others."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import MultivariateNormal

from vmtl.inference.structure import mixing_weights
from vmtl.inference.structure.covariance import DenseCovariance, LowRankCovariance
from vmtl.inference.structure.mixing_weights import (
    conditional,
    conditional_of,
    exchangeable,
    resemblance,
    structure_of,
)

#: Correlations of four tasks; no weight of a conditional is negative.
B = torch.tensor([[1, 0.6, 0.3, 0.3], [0.6, 1, 0.4, 0.3], [0.3, 0.4, 1, 0.5], [0.3, 0.3, 0.5, 1]], dtype=torch.float64)
#: Task 1 stands between tasks 0 and 2, which correct it by negative weights for each other.
CORRECTING = torch.tensor([[1, 0.7, 0.3], [0.7, 1, 0.7], [0.3, 0.7, 1]], dtype=torch.float64)


def draw_weights(covariance: Tensor, draws: int = 400_000) -> Tensor:
    """(draws, T) weights of all tasks."""
    torch.manual_seed(0)
    law = MultivariateNormal(torch.zeros(len(covariance), dtype=torch.float64), covariance)
    return law.sample((draws,))


def test_alpha_is_the_conditional_of_the_precision_matrix() -> None:
    structure = structure_of(DenseCovariance(B))
    precision = torch.linalg.inv(B)
    weights = -precision / precision.diagonal()[:, None]
    weights.fill_diagonal_(0)
    assert weights.min() >= 0
    torch.testing.assert_close(structure.sharing[:, None] * structure.alpha, weights)
    torch.testing.assert_close(structure.variance, 1 / precision.diagonal())
    torch.testing.assert_close(structure.alpha.sum(1), torch.ones(4, dtype=torch.float64))


def test_alpha_is_the_regression_of_a_task_on_the_others() -> None:
    structure, drawn = structure_of(DenseCovariance(B)), draw_weights(B)
    for t in range(4):
        others = [i for i in range(4) if i != t]
        solution = torch.linalg.lstsq(drawn[:, others], drawn[:, t, None]).solution[:, 0]
        torch.testing.assert_close(structure.sharing[t] * structure.alpha[t, others], solution, atol=0.01, rtol=0)
        residual = drawn[:, t] - drawn[:, others] @ solution
        assert float(residual.var()) == pytest.approx(float(structure.variance[t]), rel=0.02)


def test_negative_weights_count_as_none_and_the_rest_is_the_best_mixture() -> None:
    precision = torch.linalg.inv(CORRECTING)
    assert precision[0, 2] > 0  # a negative weight
    structure, drawn = structure_of(DenseCovariance(CORRECTING)), draw_weights(CORRECTING)
    assert (structure.alpha >= 0).all()
    assert structure.alpha[0].tolist() == [0, 1, 0]
    mixture = drawn @ structure.alpha.T  # u_t
    slope = (mixture * drawn).mean(0) / mixture.square().mean(0)
    assert slope.max() > 1  # of the task between the others; nobody follows by more than 1
    torch.testing.assert_close(structure.sharing, slope.clamp(0, 1), atol=0.01, rtol=0)
    rest = (drawn - structure.sharing * mixture).var(0)
    torch.testing.assert_close(structure.variance, rest, rtol=0.02, atol=0)


@pytest.mark.parametrize("n_tasks", [2, 3, 7])
@pytest.mark.parametrize("rho", [0.1, 0.8])
def test_tasks_all_alike_have_the_closed_form(n_tasks: int, rho: float) -> None:
    structure = exchangeable(n_tasks, rho)
    r = (n_tasks - 1) * rho / (1 + (n_tasks - 2) * rho)
    even = (1 - torch.eye(n_tasks, dtype=torch.float64)) / (n_tasks - 1)
    torch.testing.assert_close(structure.alpha, even)
    torch.testing.assert_close(structure.sharing, torch.full((n_tasks,), r, dtype=torch.float64))
    torch.testing.assert_close(structure.variance, torch.full((n_tasks,), 1 - r * rho, dtype=torch.float64))
    assert DenseCovariance(structure.covariance).correlation == pytest.approx(rho)
    without_table = structure_of(LowRankCovariance(torch.full((n_tasks, 1), rho**0.5, dtype=torch.float64)))
    assert without_table.covariance is None
    torch.testing.assert_close(without_table.alpha, structure.alpha)
    torch.testing.assert_close(without_table.sharing, structure.sharing)
    torch.testing.assert_close(without_table.variance, structure.variance)


def test_many_structures_at_once_are_the_same_as_one_by_one() -> None:
    together = conditional(torch.stack([B, B.flip(0).flip(1)]))
    for part, alone in zip(together, conditional(B), strict=True):
        torch.testing.assert_close(part[0], alone)


def test_structure_permutes_with_the_tasks() -> None:
    order = torch.tensor([2, 0, 3, 1])
    one, other = structure_of(DenseCovariance(B)), structure_of(DenseCovariance(B[order][:, order]))
    torch.testing.assert_close(other.alpha, one.alpha[order][:, order])
    torch.testing.assert_close(other.sharing, one.sharing[order])


def test_independent_tasks_and_one_task_share_nothing() -> None:
    for n_tasks in (1, 4):
        structure = structure_of(DenseCovariance(torch.eye(n_tasks, dtype=torch.float64)))
        assert structure.sharing.tolist() == [0.0] * n_tasks
        assert structure.variance.tolist() == [1.0] * n_tasks
    assert structure_of(DenseCovariance(torch.eye(1, dtype=torch.float64))).alpha.tolist() == [[0.0]]


def test_resemblance_is_a_softmax_of_distances() -> None:
    distances = torch.tensor([[0, 1, 3], [1, 0, 2], [3, 2, 0]], dtype=torch.float64)
    beta = resemblance(distances)
    assert beta.diagonal().tolist() == [0, 0, 0]
    assert float(beta[0, 1]) == pytest.approx(np.exp(-1) / (np.exp(-1) + np.exp(-3)))
    torch.testing.assert_close(beta.sum(1), torch.ones(3, dtype=torch.float64))


# ------------------------------------------------------------------ inference


def low_rank(n_tasks: int, rank: int, seed: int = 0) -> LowRankCovariance:
    """Rows of Phi of lengths below 1, most of them pointing the same way."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(n_tasks, rank, generator=generator, dtype=torch.float64) + 1
    length = torch.linspace(0.3, 0.97, n_tasks, dtype=torch.float64)
    return LowRankCovariance(length[:, None] * rows / rows.norm(dim=1, keepdim=True))


@pytest.mark.parametrize("rank", [1, 3])
def test_a_factor_says_what_the_table_says(rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where negative weights count as 0, and in parts."""
    covariance = low_rank(9, rank)
    table = covariance.apply(torch.eye(9, dtype=torch.float64))
    expected = conditional(table)
    if rank == 3:
        assert (-torch.linalg.inv(table)).fill_diagonal_(0).min() < 0
    for actual, whole in zip(conditional_of(covariance, torch.tensor([7, 2])), expected, strict=True):
        torch.testing.assert_close(actual, whole[[7, 2]])
    monkeypatch.setattr(mixing_weights, "PART_TASKS", 4)
    structure = structure_of(covariance)
    for actual, whole in zip((structure.alpha, structure.sharing, structure.variance), expected, strict=True):
        torch.testing.assert_close(actual, whole)
    monkeypatch.setattr(mixing_weights, "MAX_TASKS", 8)
    without = structure_of(covariance)
    assert without.alpha is without.covariance is None
    assert torch.equal(without.sharing, structure.sharing)


def test_tasks_that_keep_nothing_to_themselves_are_finite() -> None:
    structure = structure_of(LowRankCovariance(torch.ones(5, 1, dtype=torch.float64)))
    assert structure.alpha is not None
    torch.testing.assert_close(structure.alpha.sum(1), torch.ones(5, dtype=torch.float64))
    torch.testing.assert_close(structure.sharing, torch.ones(5, dtype=torch.float64), atol=1e-4, rtol=0)
