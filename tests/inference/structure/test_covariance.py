"""B of tasks that are all alike, with and without a table; and a table against dense algebra."""

from __future__ import annotations

import pytest
import torch

from vmtl.inference.structure import covariance
from vmtl.inference.structure.covariance import DenseCovariance, LowRankCovariance, TaskCovariance, alike

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
    torch.testing.assert_close(dense(free.weaken(0.4)), dense(table.weaken(0.4)), atol=1e-12, rtol=0)


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
    weak = covariance.weaken(0.5)
    torch.testing.assert_close(weak.matrix, 0.5 * B + 0.5 * torch.eye(3, dtype=torch.float64))
    assert weak.correlation == pytest.approx(covariance.correlation / 2)
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
    torch.testing.assert_close(dense(free.weaken(0.4)), dense(table.weaken(0.4)))
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
    table = alike(5, 0.3)
    assert isinstance(table, DenseCovariance)
    monkeypatch.setattr(covariance, "MAX_DENSE", 4)
    free = alike(5, 0.3)
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
