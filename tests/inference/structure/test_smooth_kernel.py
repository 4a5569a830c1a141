"""The kernel of many positions by a factor, against its table; and the average of readings."""

from __future__ import annotations

import pytest
import torch

from vmtl.inference.structure import smooth_kernel
from vmtl.inference.structure.positions.task_positions import squared_distances
from vmtl.inference.structure.smooth_kernel import UNEXPLAINED, kernel_factor, placed_covariance

POINTS = torch.randn(80, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
DISTANCES = squared_distances(POINTS @ POINTS.T)


@pytest.mark.parametrize("gamma", [0.1, 1.0])
def test_a_factor_gives_the_kernel(gamma: float) -> None:
    factor = kernel_factor(POINTS, gamma)
    assert factor.shape[1] < 60
    torch.testing.assert_close(factor @ factor.T, torch.exp(-gamma * DISTANCES), atol=UNEXPLAINED, rtol=0)


def test_few_landmarks_never_explain_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smooth_kernel, "MAX_LANDMARKS", 5)
    factor = kernel_factor(POINTS, 3.0)
    assert factor.shape == (80, 5)
    rest = torch.exp(-3.0 * DISTANCES) - factor @ factor.T
    assert torch.linalg.eigvalsh(rest).min() > -1e-9


def test_tasks_in_one_place_need_one_landmark() -> None:
    assert torch.equal(kernel_factor(torch.zeros(7, 0, dtype=torch.float64), 1.0), torch.ones(7, 1).double())
    assert kernel_factor(POINTS[:3].repeat(5, 1), 2.0).shape == (15, 3)


def test_the_average_is_that_of_the_tables() -> None:
    some_apart = torch.where(torch.arange(80) % 9 == 0, 1.5, 0.01).double()
    apart = torch.stack([torch.zeros(80, dtype=torch.float64), some_apart])
    share = torch.tensor([0.4, 0.6], dtype=torch.float64)
    covariance = placed_covariance(apart, share, POINTS, 0.6)
    kept = torch.exp(-apart)
    expected = torch.exp(-0.6 * DISTANCES) * torch.einsum("r,rt,ri->ti", share, kept, kept)
    table = covariance.apply(torch.eye(80, dtype=torch.float64))
    torch.testing.assert_close(table, expected.fill_diagonal_(1), atol=0.01, rtol=0)
    nowhere = placed_covariance(apart, torch.tensor([1.0, 0.0], dtype=torch.float64), POINTS[:, :0], 0.6)
    assert nowhere.factor.shape == (80, 1)


def test_groups_are_in_the_factor() -> None:
    """Against the table, where some are sure and some are not."""
    apart = torch.where(torch.arange(80) % 9 == 0, 0.5, 0.01).double().expand(2, -1)
    member = torch.zeros(2, 80, 3, dtype=torch.float64)
    member[0, :, 0] = 1
    member[1] = torch.rand(80, 3, generator=torch.Generator().manual_seed(1)).double().softmax(1)
    member[1, :40] = torch.nn.functional.one_hot(torch.arange(40) % 3).double()
    share, gap = torch.tensor([0.3, 0.7]).double(), torch.tensor([0.0, 1.1]).double()
    covariance = placed_covariance(apart, share, POINTS, 0.6, member, gap)
    same = member @ member.mT
    between = same + torch.exp(-gap)[:, None, None] * (1 - same)
    kept = torch.exp(-apart)
    expected = torch.exp(-0.6 * DISTANCES) * torch.einsum("r,rt,ri,rti->ti", share, kept, kept, between)
    table = covariance.apply(torch.eye(80, dtype=torch.float64))
    torch.testing.assert_close(table, expected.fill_diagonal_(1), atol=0.01, rtol=0)
