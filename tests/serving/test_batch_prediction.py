"""Answers to requests that are predicted together: each is the one that it would get alone."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from helpers.numeric_models import NUMBERS
from helpers.tables import make_table
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl.serving.batch_prediction import answer_together, as_table, warm_up
from vmtl.serving.requests import Options, PredictionRequest, RequestReader

COLUMNS = [*NUMBERS, "ward"]
TABLE = make_table(90, 0)
NEW = make_table(30, 1)
ROWS = NEW[COLUMNS].astype(object).where(NEW[COLUMNS].notna(), None).to_numpy().tolist()
TASKS = NEW["site"].tolist()


@pytest.fixture(scope="module")
def classes(quick_inference: None) -> MultiTaskClassifier:
    model = MultiTaskClassifier(missing="impute", random_state=0)
    return model.fit(TABLE[COLUMNS], TABLE["outcome"], tasks=TABLE["site"])


@pytest.fixture(scope="module")
def values(quick_inference: None) -> MultiTaskRegressor:
    model = MultiTaskRegressor(missing="impute", random_state=0)
    return model.fit(TABLE[COLUMNS], TABLE["days"], tasks=TABLE["site"])


def requests(options: Options) -> list[PredictionRequest]:
    """The new rows as requests of 1, 2, 3, ... rows."""
    edges = np.cumsum([0, 1, 2, 3, 4, 5, 6, 9])
    return [
        PredictionRequest(ROWS[start:stop], TASKS[start:stop], options, alone=False) for start, stop in pairwise(edges)
    ]


def answered(model: Any, options: Options) -> list[dict[str, Any]]:
    """What all rows are answered, by requests together and by each alone, which is the same."""
    asked = requests(options)
    together = [json.loads(answer) for answer in answer_together(model, asked)]  # type: ignore[arg-type]
    for request, answer in zip(asked, together, strict=True):
        (alone,) = answer_together(model, [request])
        same(json.loads(alone), answer)  # type: ignore[arg-type]
    return [row for answer in together for row in answer["predictions"]]


def same(one: Any, other: Any) -> None:
    """Equal but for the rounding of numbers."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            same(one[name], other[name])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for value, second in zip(one, other, strict=True):
            same(value, second)
    else:
        assert one == (pytest.approx(other, abs=1e-5) if isinstance(one, float) else other)


def test_classes_with_their_sets_and_uncertainty(classes: MultiTaskClassifier) -> None:
    rows = answered(classes, Options(coverage=0.8, uncertainty=True))
    X, tasks = NEW[COLUMNS], NEW["site"]
    p = classes.predict_proba(X, tasks=tasks)
    np.testing.assert_allclose([list(row["probabilities"].values()) for row in rows], p, rtol=0, atol=1e-6)
    assert [row["prediction"] for row in rows] == classes.classes_[p.argmax(1)].tolist()
    sets = classes.predict_set(X, tasks=tasks, coverage=0.8)
    assert [row["set"] for row in rows] == [list(sets.columns[inside]) for inside in sets.to_numpy()]
    uncertainty = classes.uncertainty(X, tasks=tasks)
    for name in uncertainty:
        np.testing.assert_allclose([row[name] for row in rows], uncertainty[name], rtol=0, atol=1e-6)
    assert list(answered(classes, Options())[0]) == ["prediction", "probabilities"]


def test_values_with_their_intervals_and_uncertainty(values: MultiTaskRegressor) -> None:
    rows = answered(values, Options(coverage=0.8, uncertainty=True))
    X, tasks = NEW[COLUMNS], NEW["site"]
    mean, std = values.predict(X, tasks=tasks, return_std=True)
    np.testing.assert_allclose([row["prediction"] for row in rows], mean, rtol=0, atol=1e-5)
    np.testing.assert_allclose([row["std"] for row in rows], std, rtol=0, atol=1e-5)
    bounds = values.predict_interval(X, tasks=tasks, coverage=0.8)
    for name in ("low", "high"):
        np.testing.assert_allclose([row["interval"][name] for row in rows], bounds[name], rtol=0, atol=1e-5)
    uncertainty = values.uncertainty(X, tasks=tasks)
    for name in uncertainty:
        np.testing.assert_allclose([row[name] for row in rows], uncertainty[name], rtol=0, atol=1e-5)
    assert list(answered(values, Options())[0]) == ["prediction", "std"]


def test_a_bad_request_spoils_no_other(classes: MultiTaskClassifier) -> None:
    good = requests(Options())[:2]
    bad = PredictionRequest([[0.1, "many", 0.3, "A"]], ["north"], Options(), alone=False)
    first, error, last = answer_together(classes, [good[0], bad, good[1]])
    assert [first, last] == answer_together(classes, [good[0]]) + answer_together(classes, [good[1]])
    assert str(error).startswith("Data row 1: 'many' in column 'dose', which held numbers in training")


def test_cells_keep_their_types_beside_any_other_request(classes: MultiTaskClassifier) -> None:
    table = as_table(classes, [[1, 2, 3, 12345678901234567], [1.5, None, 3, None]])
    assert table["ward"].tolist() == [12345678901234567, None]  # type: ignore[index]


def test_arrays_have_columns_by_their_place(quick_inference: None) -> None:
    x = np.random.default_rng(0).normal(size=(40, 2))
    model = MultiTaskRegressor(max_steps=5, random_state=0).fit(x, x.sum(1), tasks=np.arange(40) % 2)
    mean, std = model.predict(x[:3], tasks=[1, 1, 1], return_std=True)
    reader = RequestReader(model, 3)
    for rows in (x[:3].tolist(), {"x1": x[:3, 1].tolist(), "x0": x[:3, 0].tolist()}):
        asked = reader.read(json.dumps({"rows": rows, "tasks": 1}).encode())
        assert asked.tasks == [1, 1, 1]
        (answer,) = answer_together(model, [asked])
        predicted = json.loads(answer)["predictions"]  # type: ignore[arg-type]
        np.testing.assert_allclose([row["prediction"] for row in predicted], mean, rtol=0, atol=1e-6)
        np.testing.assert_allclose([row["std"] for row in predicted], std, rtol=0, atol=1e-6)
    (error,) = answer_together(model, [PredictionRequest([["a", 1]], [1], Options(), alone=True)])
    assert str(error).startswith("The model was fitted on numbers, and some cell is none")
    warm_up(model)
