"""The task of each row: bad labels get a clear error, good ones a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from helpers.small_fits import TASKS, X, Y, small
from vmtl import MultiTaskClassifier
from vmtl.estimators.inputs.task_labels import encode_tasks, task_values, unique_tasks


@pytest.fixture(scope="module")
def model() -> MultiTaskClassifier:
    return small().fit(X, Y, tasks=TASKS)


@pytest.mark.parametrize(
    ("tasks", "sentence"),
    [
        (TASKS[:-1], "tasks has 23 labels but X has 24 rows; give one label per row"),
        (np.stack([TASKS, TASKS], 1), "one label per row, a 1-d array; got 2 dimensions"),
        ((name for name in TASKS), "one label per row, a 1-d array; got <generator"),
        (np.nan, "missing label"),
        ([None, *TASKS[1:]], "missing label; give every row a task"),
        ([np.nan, *TASKS[1:]], "missing label"),
        (pd.Series([pd.NA, *TASKS[1:]]), "missing label"),
        ([["a"], *TASKS[1:]], "hashable labels"),
        (
            pd.Series(pd.Categorical(TASKS, categories=["east", "north", "south", "west"])),
            r"Task 'east' has no rows; drop it",
        ),
    ],
)
def test_bad_tasks(tasks: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        small().fit(X, Y, tasks=tasks)


def test_an_unknown_task_is_named_and_the_known_ones_listed(model: MultiTaskClassifier) -> None:
    sentence = "Unknown task 'east'; the model knows 'north', 'south', 'west'. Set unknown_task='average'"
    for call in (model.predict, model.predict_proba, model.uncertainty):
        with pytest.raises(ValueError, match=sentence):
            call(X[:2], tasks=["north", "east"])


def test_a_category_without_rows_is_fine_in_prediction(model: MultiTaskClassifier) -> None:
    tasks = pd.Series(TASKS).astype("category")
    np.testing.assert_array_equal(model.predict(X[:3], tasks=tasks[:3]), model.predict(X[:3], tasks=TASKS[:3]))


def test_several_tasks_need_tasks_in_prediction(model: MultiTaskClassifier) -> None:
    with pytest.raises(ValueError, match="This model has 3 tasks; pass tasks="):
        model.predict(X)


def test_labels_of_tasks_may_be_anything_hashable() -> None:
    values = task_values([("a", 1), ("b", 2), ("a", 1)], 3)
    assert unique_tasks(values) == [("a", 1), ("b", 2)]
    assert encode_tasks(values, [("a", 1), ("b", 2)], allow_unknown=False).tolist() == [0, 1, 0]
    assert unique_tasks(task_values(np.array([3, 1, 3]), 3)) == [1, 3]
    assert all(type(value) is int for value in task_values(np.array([3, 1, 3]), 3))
    assert unique_tasks(task_values([1, "b", 1], 3)) == [1, "b"]
    assert task_values("north", 2).tolist() == ["north", "north"]
    assert task_values(7, 2).tolist() == [7, 7]
    assert task_values(("a", "b"), 2).tolist() == ["a", "b"]
    assert task_values(["nan", "x"], 2).tolist() == ["nan", "x"]
    assert encode_tasks(task_values(["z"], 1), ["a"], allow_unknown=True).tolist() == [-1]
