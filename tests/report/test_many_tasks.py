"""Hundreds of tasks in a sentence: how many teachers they have, and which is the strongest."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from vmtl.report.many_tasks import MOST_LEARNERS, Crowd, read_crowd


def model(n_tasks: int, n_teachers: int, axes: int | None = None) -> Any:
    """Each task learns from so many of those after it, the next one a little more than the others."""

    def teachers(task: str, most: int) -> pd.Series:
        place = int(task.removeprefix("t"))
        weights = np.full(n_teachers, 1.0)
        weights[:1] += 0.5
        names = [f"t{(place + 1 + k) % n_tasks}" for k in range(n_teachers)]
        return pd.Series(weights / weights.sum() if n_teachers else [], index=names, dtype=float).head(most)

    fitted = SimpleNamespace(tasks_=np.array([f"t{k}" for k in range(n_tasks)], dtype=object), teachers=teachers)
    if axes is not None:
        fitted.positions_ = np.zeros((n_tasks, axes))
    return fitted


def test_teachers_are_counted_by_their_weights() -> None:
    """Equal weights would be the number of teachers; one of 1.5 among three of 1 are 20.25 / 5.25."""
    crowd = read_crowd(model(400, 4))
    assert crowd is not None
    assert crowd.teachers == pytest.approx(4.5**2 / (1.5**2 + 3))
    assert not crowd.is_flat
    assert crowd.sentence() == "Each of 400 tasks learns from about 4 of the others."


def test_learners_are_spread_over_all_tasks() -> None:
    crowd = read_crowd(model(400, 4))
    assert crowd is not None
    learners = [int(arrow.learner.removeprefix("t")) for arrow in crowd.arrows]
    assert len(set(learners)) == MOST_LEARNERS
    assert learners[-1] - learners[0] > 350
    for arrow, place in zip(crowd.arrows, learners, strict=True):
        assert arrow.teacher == f"t{(place + 1) % 400}"
        assert arrow.weight == pytest.approx(1.5 / 4.5)


@pytest.mark.parametrize(
    ("axes", "where"),
    [
        (None, ""),
        (0, " By their representations no task stands out."),
        (1, " By their representations they lie along 1 axis."),
        (3, " By their representations they lie along 3 axes."),
    ],
)
def test_a_task_that_learns_from_everybody_prefers_none(axes: int | None, where: str) -> None:
    crowd = read_crowd(model(400, 399, axes))
    assert crowd is not None
    assert crowd.is_flat
    assert crowd.sentence() == f"Each of 400 tasks learns from all others alike.{where}"
    assert Crowd([], 0.89 * 399, 400, axes).is_flat is False


def test_without_mixing_weights_there_is_nothing_to_say() -> None:
    nobody = model(400, 4)
    nobody.teachers = lambda task, most: pd.Series(0.0, index=["t1", "t2"])
    assert read_crowd(nobody) is None
