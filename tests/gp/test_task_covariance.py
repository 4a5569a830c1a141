"""B as a table and by a factor, against dense algebra; and B of positions against loops."""

from __future__ import annotations

import math

import pytest
import torch

from vmtl.gp import task_covariance as module
from vmtl.gp.task_covariance import (
    DenseCovariance,
    LowRankCovariance,
    TaskCovariance,
    decayed,
    exchangeable,
    kernel_factor,
    positioned,
    squared_distances,
)

B = torch.tensor([[1, 0.4, 0.7], [0.4, 1, 0.2], [0.7, 0.2, 1]], dtype=torch.float64)

PHI = torch.tensor([[0.9, 0.1], [0.5, -0.6], [0.2, 0.3]], dtype=torch.float64)


def dense(covariance: TaskCovariance) -> torch.Tensor:
    """B, by what it does to the columns of I."""
    return covariance.apply(torch.eye(covariance.n_tasks, dtype=torch.float64))


def root(covariance: TaskCovariance, size: int) -> torch.Tensor:
    """L (T, R)."""
    return covariance.root(torch.eye(size, dtype=torch.float64))


def even(n_tasks: int, rho: float) -> LowRankCovariance:
    """(1 - rho) I + rho 11', by a factor."""
    return LowRankCovariance(torch.full((n_tasks, 1), rho**0.5, dtype=torch.float64))


@pytest.mark.parametrize("n_tasks", [1, 2, 7])
@pytest.mark.parametrize("rho", [0.0, 0.3, 1.0])
def test_tasks_alike_are_the_same_with_a_table_and_without(n_tasks: int, rho: float) -> None:
    table = DenseCovariance((1 - rho) * torch.eye(n_tasks, dtype=torch.float64) + rho)
    free = even(n_tasks, rho)
    assert free.n_tasks == table.n_tasks
    if n_tasks > 1:
        assert free.correlation == pytest.approx(table.correlation, abs=1e-12)
    values = torch.randn(n_tasks, 2, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(free.apply(values), table.apply(values), atol=1e-12, rtol=0)
    task = torch.arange(9) % n_tasks
    torch.testing.assert_close(free.between(task), table.between(task), atol=1e-12, rtol=0)


@pytest.mark.parametrize(
    ("covariance", "size"),
    [(DenseCovariance(B), 3), (even(5, 0.3), 6), (even(5, 0.0), 6), (LowRankCovariance(PHI), 5)],
)
def test_roots_give_the_covariance(covariance: TaskCovariance, size: int) -> None:
    factor = root(covariance, size)
    torch.testing.assert_close(factor @ factor.T, dense(covariance), atol=1e-12, rtol=0)
    values = torch.rand(covariance.n_tasks, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(covariance.root_squares(values), factor.square().T @ values, atol=1e-12, rtol=0)


def test_a_table_that_has_no_inverse_has_a_root() -> None:
    pooled = DenseCovariance(torch.ones(4, 4, dtype=torch.float64))
    factor = root(pooled, 4)
    torch.testing.assert_close(factor @ factor.T, pooled.matrix, atol=1e-9, rtol=0)  # a root of rounding is 1e-8


def test_a_table_does_what_its_matrix_does() -> None:
    covariance = DenseCovariance(B)
    assert covariance.correlation == pytest.approx((0.4 + 0.7 + 0.2) / 3)
    assert DenseCovariance(B[:1, :1]).correlation == 0
    task = torch.tensor([2, 0, 0])
    assert covariance.between(task).tolist() == [[B[t, u] for u in task] for t in task]
    single = torch.ones(3, 1)  # what is applied keeps its precision
    assert covariance.apply(single).dtype == torch.float32


def test_a_factor_does_what_its_matrix_does() -> None:
    free, table = LowRankCovariance(PHI), DenseCovariance((PHI @ PHI.T).fill_diagonal_(1))
    assert free.n_tasks == 3
    assert free.correlation == pytest.approx(table.correlation)
    values = torch.randn(3, 2, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(free.apply(values), table.apply(values))
    task = torch.tensor([2, 0, 0, 1])
    torch.testing.assert_close(free.between(task), table.between(task))
    single = torch.ones(3, 1)  # what is applied keeps its precision
    assert free.apply(single).dtype == torch.float32


def test_orthogonal_columns_have_the_same_products_and_short_ones_go() -> None:
    doubled = torch.cat([PHI / 2**0.5, PHI / 2**0.5, 1e-3 * PHI[:, :1]], 1)
    low_rank = LowRankCovariance.orthogonal(doubled)
    assert low_rank.factor.shape == (3, 2)
    torch.testing.assert_close(low_rank.factor @ low_rank.factor.T, PHI @ PHI.T, atol=1e-5, rtol=0)
    squares = low_rank.factor.T @ low_rank.factor
    assert squares[0, 1].abs() < 1e-12
    assert squares[0, 0] > squares[1, 1]  # what is shared comes first


def test_only_few_tasks_have_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    table = exchangeable(5, 0.3)
    assert isinstance(table, DenseCovariance)
    monkeypatch.setattr(module, "MAX_DENSE", 4)
    free = exchangeable(5, 0.3)
    assert isinstance(free, LowRankCovariance)
    torch.testing.assert_close(dense(free), dense(table))


def test_a_task_more_has_the_correlations_that_it_is_given() -> None:
    """As a table and by a factor, of correlations that the factor can have; longer ones are cut to a correlation."""
    generator = torch.Generator().manual_seed(3)
    factor = 0.4 * torch.randn(9, 2, generator=generator, dtype=torch.float64)
    factor = factor / factor.norm(dim=1, keepdim=True).clamp_min(1.0)
    whole = LowRankCovariance(factor).between(torch.arange(9))
    for known in (DenseCovariance(whole[:8, :8]), LowRankCovariance(factor[:8])):
        wider = known.with_task(whole[8, :8])
        torch.testing.assert_close(wider.between(torch.arange(9)), whole)
    far = LowRankCovariance(factor[:8]).with_task(10 * whole[8, :8])
    assert float(far.factor[-1].norm()) <= 1 + 1e-12
    assert float(torch.linalg.eigvalsh(far.between(torch.arange(9))).min()) > -1e-9


ISOLATED = torch.tensor([False, False, True, False, False, False])
POINTS = torch.randn(6, 2, generator=torch.Generator().manual_seed(4), dtype=torch.float64)


def naive_positioned(strength: float, decay: float) -> torch.Tensor:
    """The formula, pair by pair."""
    table = torch.eye(6, dtype=torch.float64)
    for t in range(6):
        for i in range(6):
            if t != i and not ISOLATED[t] and not ISOLATED[i]:
                table[t, i] = strength * math.exp(-decay * float((POINTS[t] - POINTS[i]).square().sum()))
    return table


def test_positions_and_isolated_tasks_by_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = naive_positioned(0.8, 0.6)
    torch.testing.assert_close(dense(positioned(POINTS, 0.8, 0.6, ISOLATED)), expected)
    both = torch.stack([squared_distances(POINTS @ POINTS.T)] * 2)
    numbers = torch.tensor([0.8, 0.3], dtype=torch.float64)[:, None, None], torch.tensor([0.6, 2.0])[:, None, None]
    drawn = decayed(both, *numbers, ISOLATED)
    torch.testing.assert_close(drawn[0], expected, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(drawn[1], naive_positioned(0.3, 2.0), rtol=1e-6, atol=1e-7)
    monkeypatch.setattr(module, "MAX_DENSE", 5)
    monkeypatch.setattr(module, "UNEXPLAINED", 1e-9)
    monkeypatch.setattr(module, "SHORTEST", 1e-9)
    torch.testing.assert_close(dense(positioned(POINTS, 0.8, 0.6, ISOLATED)), expected, rtol=0, atol=1e-7)
    alike = exchangeable(6, 0.4, ISOLATED)
    assert isinstance(alike, LowRankCovariance)
    table = torch.full((6, 6), 0.4, dtype=torch.float64)
    table[2], table[:, 2] = 0.0, 0.0
    torch.testing.assert_close(dense(alike), table.fill_diagonal_(1))


def test_a_factor_of_few_columns_explains_many_tasks() -> None:
    points = torch.randn(400, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    factor = kernel_factor(points, 0.5)
    exact = torch.exp(-0.5 * torch.cdist(points, points).square())
    assert factor.shape[1] < module.MAX_RANK
    left = exact - factor @ factor.T
    assert float(left.diagonal().max()) <= module.UNEXPLAINED + 1e-12
    assert float(left.abs().max()) <= module.UNEXPLAINED + 1e-12  # of a covariance, no entry exceeds its diagonal


@pytest.mark.parametrize("covariance", [DenseCovariance(B), LowRankCovariance(PHI), even(5, 0.3), even(5, 0.0)])
def test_solving_is_the_inverse(covariance: TaskCovariance) -> None:
    values = torch.randn(covariance.n_tasks, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    torch.testing.assert_close(covariance.solve(values), torch.linalg.solve(dense(covariance), values))
