"""A task that comes later: every way is scored on the same rows, and repeats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.relatedness.known_structures import synthetic_groups
from benchmarks.relatedness.new_tasks import apart, left_out, one_task, rotated_digits, score


def test_scores_and_distances_are_what_they_say() -> None:
    p = np.array([[0.9, 0.1], [0.4, 0.6]])
    assert score(p, np.array([0, 0]), 1.0) == 0.5
    assert score(np.array([1.0, 3.0]), np.array([1.0, 1.0]), 2.0) == pytest.approx(np.sqrt(2) / 2)
    assert apart(p, p[::-1], 1.0) == pytest.approx(0.5)
    assert apart(np.array([1.0, 3.0]), np.array([1.0, 1.0]), 1.0) == pytest.approx(np.sqrt(2))


def test_so_many_tasks_come_later() -> None:
    tasks = rotated_digits(0, 3, Path())
    assert left_out(tasks, 10, 0).tolist() == list(range(10))
    assert len(set(left_out(tasks, 4, 0))) == 4
    assert int(tasks.train.sum()) == 30


@pytest.mark.usefixtures("quick_inference")
def test_one_task_is_scored_in_every_way() -> None:
    figures = one_task(synthetic_groups(0, 0, Path()), False, 3)
    assert set(figures) == {"average", "similar", "added", "refit", "apart", "seconds added", "seconds refit"}
    assert figures["added"] > figures["average"]
