"""Intervals and tests against scipy and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from benchmarks.paper.results.statistics import (
    holm,
    lost_rows_p_value,
    negative_transfer,
    paired,
    sampling_half_width,
    worse_p_value,
)


def test_sampling_interval_of_two_tasks() -> None:
    by_hand = 1.959964 * math.sqrt(0.9 * 0.1 / 100 + 0.5 * 0.5 / 400) / 2
    assert sampling_half_width([0.9, 0.5], [100, 400]) == pytest.approx(by_hand, rel=1e-6)


def test_paired_comparison_uses_common_splits_only() -> None:
    outcome = paired({0: 0.9, 1: 0.8, 2: 0.7, 3: 0.1}, {0: 0.8, 1: 0.8, 2: 0.75, 9: 0.0})
    assert outcome is not None
    assert (outcome.wins, outcome.ties, outcome.losses) == (1, 1, 1)
    assert outcome.difference.value == pytest.approx(0.05 / 3)
    lower = paired({0: 1.0}, {0: 2.0}, higher_is_better=False)
    assert lower is not None
    assert (lower.wins, lower.difference.value) == (1, 1.0)
    assert paired({0: 1.0}, {1: 1.0}) is None


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])


def test_worse_p_value_is_the_one_sided_t_test() -> None:
    gains = [-0.02, -0.01, -0.03, 0.005, -0.02]
    assert worse_p_value(gains) == pytest.approx(stats.ttest_1samp(gains, 0, alternative="less").pvalue)
    assert worse_p_value([-1.0]) == 1.0
    assert worse_p_value([-0.1, -0.1]) == 0.0


@pytest.mark.parametrize("lost", range(1, 9))
def test_rows_lost_on_one_split_have_the_least_p_value_of_mcnemars_test(lost: int) -> None:
    """Seeds that repeat one split are no sample of rows: one row of 140 lost, always the same, proves nothing."""
    least = min(stats.binomtest(lost + both, lost + 2 * both, alternative="greater").pvalue for both in range(30))
    gains = [-lost / 140] * 5
    assert lost_rows_p_value(gains, 140) == pytest.approx(least)
    outcome = negative_transfer({"a": gains, "b": [0.1] * 5}, {"a": 140, "b": 300})
    assert list(outcome) == (["a"] if 2 * least < 0.05 else [])
    assert lost_rows_p_value([0.1, 0.2], 140) == 1.0


def test_negative_transfer_names_the_task_that_lost() -> None:
    gains = {"a": [0.01, 0.02, 0.0], "b": [-0.1, -0.11, -0.09], "c": [-0.1, 0.1, -0.05]}
    assert list(negative_transfer(gains)) == ["b"]


def test_holm_spares_chance_among_many_tasks() -> None:
    """One of 139 equal tasks looks worse at 5 % nearly always; after correction rarely."""
    rng = np.random.default_rng(0)
    outcome = [negative_transfer({str(t): rng.normal(0, 1, 5).tolist() for t in range(139)}) for _ in range(50)]
    assert sum(bool(hurt) for hurt in outcome) <= 7
