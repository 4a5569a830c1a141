"""Rows of several tasks: checked when they are put together, and cut by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from vmtl.data import Problem


def problem(**changes: Any) -> Problem:
    fields: dict[str, Any] = {
        "name": "p",
        "X": np.arange(8.0).reshape(4, 2),
        "y": np.array([0, 1, 1, 0]),
        "task": np.array([0, 0, 1, 1]),
        "task_names": ("north", "south"),
        "class_names": ("ill", "well"),
        "paths": np.array(["a", "b", "c", "d"]),
    }
    return Problem(**{**fields, **changes})


def test_tasks_and_labels_are_names() -> None:
    p = problem()
    assert (p.n_rows, p.n_tasks, p.n_classes, p.is_classification) == (4, 2, 2, True)
    assert p.tasks.tolist() == ["north", "north", "south", "south"]
    assert p.labels.tolist() == ["ill", "well", "well", "ill"]


def test_a_regression_has_its_targets_as_labels() -> None:
    p = problem(class_names=None, y=np.array([0.5, 1.5, -1.0, 9.0]))
    assert (p.n_classes, p.is_classification) == (1, False)
    assert p.labels is p.y


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"y": np.zeros(3, dtype=int)}, "y has 3 rows but X has 4"),
        ({"groups": np.zeros(5)}, "groups has 5 rows but X has 4"),
        ({"task": np.array([0, 0, 1, 2])}, "task must index task_names, from 0 to 1"),
        ({"y": np.array([0, 1, 2, 0])}, "y must index class_names, from 0 to 1"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        problem(**changes)


@pytest.mark.parametrize("rows", [[2, 0], np.array([False, True, False, True])])
def test_a_subset_cuts_every_field_alike(rows: Any) -> None:
    part = problem(X=pd.DataFrame({"a": [1, 2, 3, 4]})).subset(rows)
    chosen = [2, 0] if isinstance(rows, list) else [1, 3]
    assert part.X["a"].tolist() == [i + 1 for i in chosen]
    assert part.paths is not None
    assert part.paths.tolist() == ["abcd"[i] for i in chosen]
    assert part.task_names == ("north", "south")
    assert part.groups is None
