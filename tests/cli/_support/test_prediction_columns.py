"""What stands beside rows: the model's own predictions, in the order of the rows, and no column is overwritten."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers.report_models import Case
from vmtl.cli._support.prediction_columns import (
    all_columns,
    beside,
    guaranteed_columns,
    prediction_columns,
    rounded,
)


def test_a_classifier_has_a_probability_for_each_class(class_case: Case) -> None:
    X, tasks, model = class_case.test.X, class_case.test.tasks, class_case.model
    columns = prediction_columns(model, X, tasks)
    names = [f"probability_{label}" for label in ("low", "mid", "top")]
    assert list(columns) == ["prediction", *names, "total", "aleatoric", "epistemic"]
    np.testing.assert_array_equal(columns["prediction"], model.predict(X, tasks=tasks))
    np.testing.assert_array_equal(columns[names], model.predict_proba(X, tasks=tasks))
    np.testing.assert_array_equal(columns["epistemic"], model.uncertainty(X, tasks=tasks)["epistemic"])


def test_a_regressor_has_a_number_whatever_the_index_of_the_rows(real_case: Case) -> None:
    X, tasks, model = real_case.test.X[:5], real_case.test.tasks[:5], real_case.model
    columns = prediction_columns(model, pd.DataFrame(X, index=[9, 7, 5, 3, 1]), tasks)
    assert list(columns) == ["prediction", "total", "aleatoric", "epistemic"]
    assert list(columns.index) == [0, 1, 2, 3, 4]
    mean, std = model.predict(X, tasks=tasks, return_std=True)
    np.testing.assert_array_equal(columns["prediction"], mean)
    np.testing.assert_allclose(columns["total"], std)


def test_with_a_coverage_there_are_ends_or_a_set(real_case: Case, class_case: Case) -> None:
    X, tasks = real_case.test.X, real_case.test.tasks
    columns = all_columns(real_case.model, X, tasks, 0.8, Path("rows.csv"))
    ends = real_case.model.predict_interval(X, tasks=tasks, coverage=0.8)
    np.testing.assert_array_equal(columns[["low", "high"]], ends)
    assert list(all_columns(real_case.model, X, tasks, None, Path("rows.csv"))) == list(columns)[:-2]
    cells = guaranteed_columns(class_case.model, X, tasks, 0.8)["set"]
    inside = class_case.model.predict_set(X, tasks=tasks, coverage=0.8)
    assert [cell.split("; ") for cell in cells] == [
        [label for label in ("low", "mid", "top") if row[label]] for _, row in inside.iterrows()
    ]


def test_six_digits_of_all_but_the_prediction() -> None:
    table = pd.DataFrame({"prediction": [1 / 3], "set": ["a; b"], "probability_a": [2 / 3], "total": [1234567.8]})
    assert rounded(table).to_dict("records") == [
        {"prediction": 1 / 3, "set": "a; b", "probability_a": 0.666667, "total": 1234570.0}
    ]


def test_a_column_of_the_user_is_never_overwritten() -> None:
    columns = pd.DataFrame({"prediction": [1, 2], "total": [0.1, 0.2]})
    whole = beside(pd.DataFrame({"age": [61, 62]}, index=[8, 4]), columns, Path("rows.csv"))
    assert whole.to_dict("list") == {"age": [61, 62], "prediction": [1, 2], "total": [0.1, 0.2]}
    with pytest.raises(ValueError, match=r"^rows\.csv already has a column 'total'; rename it"):
        beside(pd.DataFrame({"total": [1, 2]}), columns, Path("rows.csv"))
