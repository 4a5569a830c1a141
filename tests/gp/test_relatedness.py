"""Who learns from whom: the conditional law of a task, against Schur complements and regressions of drawn weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from vmtl.gp import relatedness as module
from vmtl.gp.positions.task_positions import TaskPositions
from vmtl.gp.relatedness import (
    conditional,
    conditional_of,
    covariance_of,
    resemblance,
    structure_of,
    with_intervals,
)
from vmtl.gp.task_covariance import DenseCovariance, LowRankCovariance, positioned

#: Correlations of four tasks; no weight of a conditional is negative.
B = torch.tensor([[1, 0.6, 0.3, 0.3], [0.6, 1, 0.4, 0.3], [0.3, 0.4, 1, 0.5], [0.3, 0.3, 0.5, 1]], dtype=torch.float64)
#: Task 1 stands between tasks 0 and 2, which correct it by negative weights for each other.
CORRECTING = torch.tensor([[1, 0.7, 0.3], [0.7, 1, 0.7], [0.3, 0.7, 1]], dtype=torch.float64)


def test_the_mixture_is_the_schur_complement_where_no_weight_is_negative() -> None:
    alpha, sharing, variance = conditional(B)
    for t in range(4):
        others = [i for i in range(4) if i != t]
        weights = torch.linalg.solve(B[others][:, others], B[others, t])
        assert weights.min() > 0
        torch.testing.assert_close(sharing[t] * alpha[t, others], weights)
        assert float(variance[t]) == pytest.approx(float(1 - B[t, others] @ weights))
    torch.testing.assert_close(alpha.sum(1), torch.ones(4, dtype=torch.float64))
    assert alpha.diagonal().tolist() == [0] * 4


def test_negative_weights_count_as_none_and_the_rest_is_the_best_mixture() -> None:
    """The best r and its v follow from the covariance of w_t and u_t."""
    alpha, sharing, variance = conditional(CORRECTING)
    assert alpha[0].tolist() == [0, 1, 0]
    for t in range(3):
        joint = torch.stack([torch.eye(3, dtype=torch.float64)[t], alpha[t]])  # w_t and u_t
        inner = joint @ CORRECTING @ joint.T
        r = float((inner[0, 1] / inner[1, 1]).clamp(0, 1))
        assert float(sharing[t]) == pytest.approx(r)
        assert float(variance[t]) == pytest.approx(float(inner[0, 0] - 2 * r * inner[0, 1] + r * r * inner[1, 1]))
    assert float((CORRECTING[1] @ alpha[1]) / (alpha[1] @ CORRECTING @ alpha[1])) > 1 == float(sharing[1])


@pytest.mark.parametrize("n_tasks", [2, 7])
@pytest.mark.parametrize("rho", [0.1, 0.8])
def test_tasks_all_alike_have_the_closed_form(n_tasks: int, rho: float) -> None:
    r = (n_tasks - 1) * rho / (1 + (n_tasks - 2) * rho)
    even = (1 - torch.eye(n_tasks, dtype=torch.float64)) / (n_tasks - 1)
    table = DenseCovariance((1 - rho) * torch.eye(n_tasks, dtype=torch.float64) + rho)
    for covariance in (table, LowRankCovariance(torch.full((n_tasks, 1), rho**0.5, dtype=torch.float64))):
        structure = structure_of(covariance)
        assert structure.alpha is not None
        torch.testing.assert_close(structure.alpha, even)
        torch.testing.assert_close(structure.sharing, torch.full((n_tasks,), r, dtype=torch.float64))
        torch.testing.assert_close(structure.variance, torch.full((n_tasks,), 1 - r * rho, dtype=torch.float64))
        eye = torch.eye(n_tasks, dtype=torch.float64)
        torch.testing.assert_close(covariance_of(structure).apply(eye), table.matrix)


def test_many_structures_at_once_are_the_same_as_one_by_one() -> None:
    together = conditional(torch.stack([B, B.flip(0).flip(1)]))
    for part, alone in zip(together, conditional(B), strict=True):
        torch.testing.assert_close(part[0], alone)


def test_independent_tasks_and_one_task_share_nothing() -> None:
    for n_tasks in (1, 4):
        structure = structure_of(DenseCovariance(torch.eye(n_tasks, dtype=torch.float64)))
        assert structure.sharing.tolist() == [0.0] * n_tasks
        assert structure.variance.tolist() == [1.0] * n_tasks


@pytest.mark.parametrize("rank", [1, 3])
def test_a_factor_says_what_the_table_says(rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where negative weights count as 0, and in parts."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(9, rank, generator=generator, dtype=torch.float64) + 1
    length = torch.linspace(0.3, 0.97, 9, dtype=torch.float64)
    covariance = LowRankCovariance(length[:, None] * rows / rows.norm(dim=1, keepdim=True))
    table = covariance.apply(torch.eye(9, dtype=torch.float64))
    expected = conditional(table)
    if rank == 3:
        assert (-torch.linalg.inv(table)).fill_diagonal_(0).min() < 0
    for actual, whole in zip(conditional_of(covariance, torch.tensor([7, 2])), expected, strict=True):
        torch.testing.assert_close(actual, whole[[7, 2]])
    monkeypatch.setattr(module, "PART_TASKS", 4)
    structure = structure_of(covariance)
    for actual, whole in zip((structure.alpha, structure.sharing, structure.variance), expected, strict=True):
        torch.testing.assert_close(actual, whole)
    monkeypatch.setattr(module, "MAX_TASKS", 8)
    without = structure_of(covariance)
    assert without.alpha is without.covariance is None
    assert torch.equal(without.sharing, structure.sharing)


def test_resemblance_is_a_softmax_of_distances() -> None:
    beta = resemblance(torch.tensor([[0, 1, 3], [1, 0, 2], [3, 2, 0]], dtype=torch.float64))
    assert beta.diagonal().tolist() == [0, 0, 0]
    assert float(beta[0, 1]) == pytest.approx(np.exp(-1) / (np.exp(-1) + np.exp(-3)))


def draws(strength: Tensor, decay: Tensor):
    return lambda count, generator: (strength[:count], decay[:count])


def test_intervals_hold_nine_draws_of_ten_and_the_value() -> None:
    """Without noise in the positions, of a strength that is even between 0 and 1, each draw a conditional by itself."""
    points = torch.tensor([[0.0], [0.5], [2.0]], dtype=torch.float64)
    strength, decay = torch.linspace(0, 0.99, 101, dtype=torch.float64), torch.full((101,), 0.7, dtype=torch.float64)
    nobody = torch.zeros(3, dtype=torch.bool)
    structure = structure_of(positioned(points, 0.5, 0.7, nobody))
    positions = TaskPositions(points, torch.zeros(101, 3, 3, dtype=torch.float64))
    found = with_intervals(structure, positions, draws(strength, decay), nobody, 0)
    each = [structure_of(positioned(points, float(m), 0.7, nobody)).sharing for m in strength]
    expected = torch.stack(each).quantile(torch.tensor([0.05, 0.95], dtype=torch.float64), 0)
    torch.testing.assert_close(found.sharing_interval, expected, rtol=0, atol=1e-6)
    assert found.alpha_interval is not None
    assert found.alpha is not None
    assert bool(((found.alpha_interval[0] <= found.alpha) & (found.alpha <= found.alpha_interval[1])).all())
    torch.testing.assert_close(found.beta, resemblance(torch.cdist(points, points).square()))
    assert torch.equal(found.positions, points)
    sure = with_intervals(structure, positions, draws(strength[50:51].expand(101), decay), nobody, 0)
    assert float((sure.sharing_interval[1] - sure.sharing_interval[0]).max()) < 0.01
