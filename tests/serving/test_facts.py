"""What a program that runs a model is told about it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from helpers.small_fits import TASKS, X, Y, small
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl.serving.facts import as_given, column_names, describe


def fitted(table: object) -> MultiTaskClassifier:
    return small(method="bmtl", encoder="linear").fit(table, Y, tasks=TASKS)


def test_tasks_columns_and_classes_as_json() -> None:
    facts = describe(fitted(X))
    assert facts == {
        "kind": "classification",
        "tasks": ["north", "south", "west"],
        "columns": ["x0", "x1", "x2", "x3", "x4", "x5"],
        "classes": [0, 1, 2],
    }
    assert json.loads(json.dumps(facts)) == facts
    model = MultiTaskRegressor("bmtl", encoder="linear", max_steps=2).fit(X, X[:, 0], tasks=TASKS)
    assert describe(model)["kind"] == "regression"
    assert "classes" not in describe(model)


def test_numbers_become_the_table_that_the_model_was_fitted_on() -> None:
    array = X[:3]
    assert as_given(fitted(X), array) is array
    dates = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(len(X)), unit="D")
    table = pd.DataFrame({"age": X[:, 0], "day": dates})
    model = fitted(table)
    assert column_names(model) == ["age", "day"]
    given = as_given(model, np.array([[1.5, 18_262.0]]))  # days since 1970
    assert given["day"].iloc[0] == pd.Timestamp("2020-01-01", tz="UTC")
    assert given["age"].iloc[0] == 1.5
