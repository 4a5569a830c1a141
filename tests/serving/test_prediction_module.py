"""The module that is exported says what the estimator says, and NaN where the estimator refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from helpers.numeric_models import NUMBERS, Numeric, fit_numeric
from helpers.tables import make_table
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl.data.preprocessing import TablePreprocessor
from vmtl.serving.prediction_module import Columns, PredictionModule


def asked(numeric: Numeric) -> dict[str, Tensor]:
    """All outputs of the module for the rows of ``numeric``, by name."""
    module = PredictionModule(numeric.model)
    place = {task: number for number, task in enumerate(numeric.model.tasks_)}
    task = torch.tensor([place[name] for name in numeric.tasks])
    with torch.no_grad():
        outputs = module(torch.tensor(numeric.X.to_numpy(np.float64).copy()), task)
    return dict(zip(module.outputs, outputs, strict=True))


def expected(numeric: Numeric) -> dict[str, Any]:
    model, rows = numeric.model, {"X": numeric.X, "tasks": numeric.tasks}
    if isinstance(model, MultiTaskClassifier):
        first: dict[str, Any] = {"probabilities": model.predict_proba(**rows)}
    else:
        first = {"prediction": model.predict(**rows)}
    return first | {**model.uncertainty(**rows)}


def assert_same(numeric: Numeric, atol: float = 1e-5) -> None:
    found, by_model = asked(numeric), expected(numeric)
    scale = getattr(numeric.model, "y_scale_", 1.0)
    assert list(found) == list(by_model)
    for name, values in by_model.items():
        np.testing.assert_allclose(found[name] / scale, np.asarray(values) / scale, rtol=0, atol=atol, err_msg=name)


@pytest.mark.parametrize("kind", ["classes", "values"])
def test_it_says_what_the_estimator_says(kind: str, request: pytest.FixtureRequest) -> None:
    numeric: Numeric = request.getfixturevalue(kind)
    assert numeric.X.isna().any(axis=None)
    assert_same(numeric)


@pytest.mark.usefixtures("quick_inference")
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (MultiTaskClassifier, {"method": "vstl"}),  # an encoder for every task
        (MultiTaskRegressor, {"encoder": "linear", "predictive": "monte-carlo"}),  # draws
    ],
)
def test_other_encoders_and_predictives(kind: type, options: dict[str, str]) -> None:
    assert_same(fit_numeric(kind, "outcome" if kind is MultiTaskClassifier else "days", **options))


def test_a_row_that_the_estimator_refuses_is_nan_and_its_neighbours_are_not(classes: Numeric) -> None:
    x = torch.tensor(classes.X.to_numpy(np.float64)[:5].copy())
    module = PredictionModule(classes.model)
    task = torch.tensor([-1, 3, 0, 0, 2])  # there are three
    x[2, 1] = torch.inf
    with torch.no_grad():
        outputs, alone = module(x, task), module(x[4:], task[4:])
    for values, of_last in zip(outputs, alone, strict=True):
        assert values.isnan().reshape(5, -1).all(1).tolist() == [True, True, True, False, False]
        torch.testing.assert_close(values[4:], of_last)


@pytest.mark.parametrize("missing", ["impute", "error"])
def test_columns_are_those_of_the_preprocessor(missing: str) -> None:
    table = make_table(40, 0)[NUMBERS]
    if missing == "error":
        table = table.fillna(0.5)
    preprocessor = TablePreprocessor(missing=missing).fit(table)
    found = Columns(preprocessor)(torch.tensor(table.to_numpy().copy()))
    np.testing.assert_allclose(found, preprocessor.transform(table), rtol=1e-6)
    x = torch.rand(3, 2, dtype=torch.float64)
    assert Columns(None)(x) is x
