"""Folds within tasks and of tasks, and the parts put together again."""

from __future__ import annotations

import numpy as np
import pytest

from vmtl.cli._support.held_out import folds_of_tasks, folds_within_tasks, hold_out, together
from vmtl.data.problem import Problem
from vmtl.evaluation import Evidence


def problem() -> Problem:
    rng = np.random.default_rng(0)
    return Problem("p", rng.normal(size=(60, 2)), rng.normal(size=60), np.arange(60) % 4, tuple("abcd"))


@pytest.mark.parametrize("folds", [folds_within_tasks, folds_of_tasks])
def test_every_row_is_in_one_fold(folds: object) -> None:
    splits = list(folds(problem(), 3, 0))  # type: ignore[operator]
    assert sorted(np.concatenate([split.test for split in splits]).tolist()) == list(range(60))
    assert all(len(split.train) + len(split.test) == 60 for split in splits)


def test_folds_of_tasks_keep_tasks_whole() -> None:
    for split in folds_of_tasks(problem(), 2, 0):
        assert not set(problem().task[split.train]) & set(problem().task[split.test])


def test_a_share_of_every_task_is_kept_out() -> None:
    learned, held = hold_out(problem(), 0.2, 0)
    assert np.bincount(held.task).tolist() == [3, 3, 3, 3]
    assert learned.n_rows == 48
    with pytest.raises(ValueError, match=r"such as 0\.2"):
        hold_out(problem(), 1.0, 0)


def test_parts_are_put_together() -> None:
    def part(n: int) -> Evidence:
        ones = np.ones(n)
        return Evidence(("a",), None, np.zeros(n, dtype=int), ones, None, ones, ones, ones, ones)

    whole = together([part(3), part(4)])
    assert len(whole.y) == len(whole.std if whole.std is not None else ()) == 7
    assert whole.p is None
