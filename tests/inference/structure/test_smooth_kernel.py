"""The kernel of many positions by a factor, against its table; and the average of readings."""

from __future__ import annotations

import pytest
import torch

from vmtl.inference.structure import smooth_kernel
from vmtl.inference.structure.positions import squared_distances
from vmtl.inference.structure.readings import Reading
from vmtl.inference.structure.smooth_kernel import UNEXPLAINED, average_covariance, kernel_factor

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


def reading(numbers: list[float], apart: torch.Tensor) -> Reading:
    given = torch.tensor(numbers, dtype=torch.float64)
    return Reading(given, apart, 0.0, 0.0, torch.eye(len(numbers), dtype=torch.float64))


def test_the_average_is_that_of_the_tables() -> None:
    apart = torch.zeros(80, dtype=torch.float64)
    some_apart = torch.where(torch.arange(80) % 9 == 0, 1.5, 0.01).double()
    readings = [
        reading([-3.0, 0.0], apart),
        reading([-4.0, 0.0, -0.5, 1.0], apart),
        reading([-3.5, 0.0, 0.2, 0.3], some_apart),
    ]
    share = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    found = average_covariance(readings, share, POINTS)
    expected = sum(p * r.covariance(DISTANCES) for p, r in zip(share, readings, strict=True))
    torch.testing.assert_close(found.apply(torch.eye(80, dtype=torch.float64)), expected, atol=0.01, rtol=0)
    first = average_covariance(readings, torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64), POINTS)
    assert first.factor.shape == (80, 1)


def test_tasks_that_were_not_looked_at_stand_apart_as_those_that_were() -> None:
    known, seen = torch.tensor([4, 1]), torch.tensor([0.0, 1.0], dtype=torch.float64)
    everybody = reading([-3.0, 0.0], seen).of_all(known, 5)
    expected = torch.exp(-seen).mean()
    torch.testing.assert_close(
        torch.exp(-everybody.apart),
        torch.stack([expected, torch.exp(-seen[1]), expected, expected, torch.exp(-seen[0])]),
    )
    assert torch.equal(reading([-3.0, 0.0], seen).of_all(torch.arange(2), 2).apart, seen)
