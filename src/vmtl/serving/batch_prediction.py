"""Requests to answers: those with the same options are predicted in one call of the estimator."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vmtl._utils.json_values import to_json
from vmtl._utils.types import Array, MatrixLike
from vmtl.serving.facts import column_kinds
from vmtl.serving.requests import Options, PredictionRequest, join

if TYPE_CHECKING:
    from vmtl.serving.facts import Estimator

#: A cell of each kind that every model takes.
HARMLESS = {"number": 0.0, "text": "", "date": "2000-01-01"}


def answer_together(model: Estimator, requests: Sequence[PredictionRequest]) -> list[bytes | Exception]:
    """For every request its answer as JSON, or what the estimator raised. All have the same options."""
    rows, tasks = join(requests)
    try:
        answers = predict(model, as_table(model, rows), tasks, requests[0].options)
    except Exception as error:  # of one request, which is found by predicting each alone
        if len(requests) == 1:
            return [error]
        return [answer for request in requests for answer in answer_together(model, [request])]
    start, bodies = 0, []
    for request in requests:
        stop = start + len(request.rows)
        bodies.append(json.dumps({"predictions": answers[start:stop]}, separators=(",", ":")).encode())
        start = stop
    return [*bodies]


def as_table(model: Estimator, rows: list[list[Any]]) -> MatrixLike:
    """Cells (n, D) as the kind of X that the model was fitted on.

    Cells of a table stay Python's own: a type that pandas infers for a column would depend on the other requests.
    """
    names = list(column_kinds(model))
    if model.preprocessor_ is not None:
        import pandas as pd

        return pd.DataFrame(_cells(rows, len(names)), columns=names, dtype=object)
    try:
        x = _cells(rows, len(names)).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"The model was fitted on numbers, and some cell is none ({error}); repair it.") from None
    if not hasattr(model, "feature_names_in_"):
        return x
    import pandas as pd

    return pd.DataFrame(x, columns=names)


def _cells(rows: list[list[Any]], n_columns: int) -> Array:
    cells = np.empty((len(rows), n_columns), dtype=object)
    cells[:] = rows
    return cells


def predict(model: Any, X: MatrixLike, tasks: Array, options: Options) -> list[dict[str, Any]]:
    """One object per row: the prediction and what the options ask for."""
    rows: list[dict[str, Any]]
    labels = [to_json(label) for label in model.classes_.tolist()] if hasattr(model, "classes_") else []
    if labels:
        names = [str(label) for label in labels]
        p = model.predict_proba(X, tasks=tasks)
        rows = [
            {"prediction": labels[best], "probabilities": dict(zip(names, row, strict=True))}
            for best, row in zip(p.argmax(1).tolist(), p.tolist(), strict=True)
        ]
    else:
        mean, std = model.predict(X, tasks=tasks, return_std=True)
        rows = [{"prediction": m, "std": s} for m, s in zip(mean.tolist(), std.tolist(), strict=True)]
    if options.coverage is not None:
        for row, part in zip(rows, _regions(model, X, tasks, options.coverage, labels), strict=True):
            row.update(part)
    if options.uncertainty:
        parts = model.uncertainty(X, tasks=tasks)
        for row, values in zip(rows, parts.to_numpy().tolist(), strict=True):
            row.update(zip(parts.columns, values, strict=True))
    return rows


def _regions(model: Estimator, X: MatrixLike, tasks: Array, coverage: float, labels: list[Any]) -> list[dict[str, Any]]:
    """The set of classes of every row, or its interval."""
    if labels:
        inside = model.predict_set(X, tasks=tasks, coverage=coverage).to_numpy()
        return [{"set": [label for label, has in zip(labels, row, strict=True) if has]} for row in inside]
    bounds = model.predict_interval(X, tasks=tasks, coverage=coverage)
    return [{"interval": {"low": low, "high": high}} for low, high in bounds[["low", "high"]].to_numpy().tolist()]


def warm_up(model: Estimator) -> None:
    """Predict one row, so that no user waits for what is imported and allocated by the first prediction."""
    row = [HARMLESS[kind] for kind in column_kinds(model).values()]
    answer_together(model, [PredictionRequest([row], [model.tasks_[0]], Options(), alone=True)])
