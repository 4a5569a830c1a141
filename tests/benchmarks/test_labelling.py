"""What labels are worth: the same start for all ways, every task in it."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.labelling import WAYS, first_rows, one_seed, shown
from vmtl.datasets import load_digits_domains


def test_the_start_has_every_task_and_no_row_twice() -> None:
    digits = load_digits_domains()
    pool = np.random.default_rng(0).permutation(digits.n_rows)[:300]
    rows = first_rows(digits, pool, 20, np.random.default_rng(1))
    assert len(set(rows)) == 20
    assert set(rows) <= set(pool)
    assert np.unique(digits.tasks[rows], return_counts=True)[1].min() >= 2


@pytest.mark.usefixtures("quick_inference")
def test_one_seed_scores_every_way_and_repeats() -> None:
    digits = load_digits_domains().subset(range(0, 1797, 12))
    scores = one_seed(digits, 0, start=20, added=5)
    assert list(scores) == ["before", *WAYS]
    assert all(0 <= score <= 1 for score in scores.values())
    assert one_seed(digits, 0, start=20, added=5) == scores


def test_numbers_are_shown_with_their_interval() -> None:
    assert shown(np.array([0.1, 0.2, 0.3])) == "0.2000 [-0.0484, 0.4484]"  # 0.2 +- t(0.975, 2) 0.1 / sqrt(3)
