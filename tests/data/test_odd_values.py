"""Values far from all others are found; heavy tails and tasks with a scale of their own are let be."""

from __future__ import annotations

import numpy as np
import pytest

from vmtl.data.odd_values import odd_values


def test_six_of_623_values_are_found() -> None:
    y = np.random.default_rng(0).normal(50, 10, 623)
    rows = [3, 5, 100, 200, 300, 622]
    y[rows] = 1e7
    assert odd_values(y).tolist() == rows
    y[rows] = [-1e7, 1e7, 2e5, -3e6, 1e9, 1e8]
    assert odd_values(y).tolist() == rows


def test_a_code_for_missing_values_is_found() -> None:
    y = np.random.default_rng(0).uniform(0, 100, 300)
    y[[4, 9]] = -99
    assert odd_values(y).tolist() == [4, 9]
    ages = np.random.default_rng(0).integers(0, 98, 300).astype(float)
    ages[[4, 9]] = 99
    assert odd_values(ages).size == 0


def test_a_task_with_a_scale_of_its_own_is_none() -> None:
    rng = np.random.default_rng(0)
    y, task = rng.normal(0, 1, 400), np.repeat([0, 1], [390, 10])
    y[task == 1] += 1e4
    assert odd_values(y).size == 10
    assert odd_values(y, task).size == 0


@pytest.mark.parametrize("draw", ["standard_normal", "standard_exponential"])
def test_chance_makes_none(draw: str) -> None:
    rng = np.random.default_rng(1)
    assert not any(odd_values(getattr(rng, draw)(623)).size for _ in range(100))


def test_heavy_tails_and_rare_events_are_seldom_odd() -> None:
    rng = np.random.default_rng(2)
    assert sum(odd_values(rng.lognormal(0, 1.5, 623)).size > 0 for _ in range(100)) <= 2
    assert not any(odd_values((rng.random(623) < 0.03) * rng.integers(1, 4, 623) * 1.0).size for _ in range(100))


def test_few_rows_gaps_and_constants() -> None:
    assert odd_values(np.array([0.0] * 10 + [1e9])).size == 0
    assert odd_values(np.full(50, np.nan)).size == 0
    assert odd_values(np.ones(50)).size == 0
    assert odd_values(np.append(np.random.default_rng(0).normal(size=49), [np.nan, 1e6])).tolist() == [50]
