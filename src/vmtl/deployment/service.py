"""A fitted estimator behind HTTP: a small FastAPI application that any ASGI server runs.

GET / says what the model is, GET /health that it answers, POST /predict predicts. What cannot be predicted is answered
by {"error": one sentence} and a status of 4xx.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from fastapi import Body, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from sklearn.utils.validation import check_is_fitted
from starlette.exceptions import HTTPException

from vmtl import __version__
from vmtl._utils.json_values import to_json
from vmtl._utils.messages import counted
from vmtl._utils.types import Array
from vmtl.data.columns import as_levels
from vmtl.data.preprocessing import lacking
from vmtl.deployment.facts import column_names, describe

if TYPE_CHECKING:
    import pandas as pd

    from vmtl.deployment.facts import Estimator

#: Limits of one request.
MAX_ROWS, MAX_BYTES = 10_000, 2**24


def make_app(model: Estimator, *, max_rows: int = MAX_ROWS, max_bytes: int = MAX_BYTES) -> FastAPI:
    """A web service for a fitted estimator.

    Parameters
    ----------
    model : MultiTaskClassifier or MultiTaskRegressor
        A fitted estimator.
    max_rows, max_bytes : int
        The largest request that is answered.

    Returns
    -------
    FastAPI
        For uvicorn or another ASGI server; it predicts one request at a time.
    """
    check_is_fitted(model)
    app = FastAPI(title="vmtl", version=__version__, docs_url=None, redoc_url=None)  # those load from the network
    about = {**describe(model), "version": __version__, "limits": {"rows": max_rows, "bytes": max_bytes}}
    one_at_a_time = threading.Lock()

    @app.get("/")
    async def information() -> dict[str, Any]:
        return about

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.post("/predict")
    def predict(
        rows: Annotated[list[Any] | dict[str, list[Any]], Body(description="Objects, columns, or lists of values.")],
        tasks: Annotated[list[Any] | str | float | None, Body(description="Of each row, or one for all.")] = None,
    ) -> dict[str, Any]:
        table = read_rows(rows, column_names(model), max_rows)
        labels = read_tasks(tasks, table, model)
        with one_at_a_time:
            return {"predictions": predictions(model, table, labels)}

    _answer_errors(app, max_bytes)
    return app


def _answer_errors(app: FastAPI, max_bytes: int) -> None:
    """Every refusal is a sentence; bodies over the limit are never read."""

    @app.middleware("http")
    async def limit_body(request: Request, call_next: Any) -> Response:
        length = request.headers.get("content-length")
        if length is None and "transfer-encoding" in request.headers:
            return refusal("The request does not say its length; send Content-Length.", 411)
        if int(length or 0) > max_bytes:
            sentence = f"The request has {length} bytes, more than {max_bytes}; send fewer rows at a time."
            return refusal(sentence, 413)
        response: Response = await call_next(request)
        return response

    @app.exception_handler(ValueError)
    async def bad_rows(request: Request, error: ValueError) -> Response:
        if isinstance(error, UnicodeEncodeError):
            return refusal("Some text in the request has half of a surrogate pair; send whole characters.", 422)
        return refusal(str(error), 422)

    @app.exception_handler(RequestValidationError)
    async def bad_request(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part != "body")
        sentence = f"The request is wrong{f' at {place!r}' if place else ''} ({first['msg']}); send JSON such as "
        return refusal(sentence + '{"rows": [{"column": 1.5}], "tasks": "name"}.', 422)

    @app.exception_handler(HTTPException)
    async def no_such_page(request: Request, error: HTTPException) -> Response:
        sentence = (
            f"{request.method} {request.url.path} is not served ({error.detail}); GET /, GET /health, POST /predict."
        )
        return refusal(sentence, error.status_code, error.headers)


def refusal(sentence: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """One line; what a request quotes may hold halves of characters, which no answer can."""
    line = " ".join(sentence.encode(errors="replace").decode().split())
    return JSONResponse({"error": line}, status, headers)


def read_rows(rows: list[Any] | dict[str, list[Any]], columns: Sequence[str], max_rows: int) -> pd.DataFrame:
    """Rows as objects, as columns, or as lists in the order of ``columns``, as a table; null is a gap."""
    import pandas as pd

    if isinstance(rows, dict):
        lengths = {name: len(values) for name, values in rows.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"The columns differ in length ({lengths}); give each one value per row.")
        n_rows = next(iter(lengths.values()), 0)
    else:
        n_rows = len(rows)
    if not 0 < n_rows <= max_rows:
        raise ValueError(f"The request has {counted(n_rows, 'row')}; send between 1 and {max_rows} at a time.")
    if isinstance(rows, dict):
        absent = [name for name in columns if name not in rows]
        if absent:
            raise ValueError(lacking("The request", absent, rows, columns))
        return pd.DataFrame(rows)
    for number, row in enumerate(rows, start=1):
        _check_row(row, number, columns)
        if type(row) is not type(rows[0]):
            raise ValueError(f"Row {number} is written unlike row 1; write all rows as objects, or all as lists.")
    names = {} if isinstance(rows[0], dict) else {"columns": list(columns)}
    return pd.DataFrame(rows, **names)


def _check_row(row: Any, number: int, columns: Sequence[str]) -> None:
    if isinstance(row, dict):
        absent = [name for name in columns if name not in row]
        if absent:
            raise ValueError(lacking(f"Row {number}", absent, row, columns))
    elif not isinstance(row, list) or len(row) != len(columns):
        raise ValueError(
            f"Row {number} is neither an object nor a list of {counted(len(columns), 'value')}; repair it."
        )


def read_tasks(tasks: list[Any] | str | float | None, table: pd.DataFrame, model: Estimator) -> Array:
    """One task label per row, as the model knows them: given, the column of the table, or the only one."""
    import pandas as pd

    column = model.metadata_.get("task", model.task_column) if hasattr(model, "metadata_") else model.task_column
    if tasks is None and column is not None and column in table.columns:
        tasks = table[column].tolist()
    if tasks is None:
        if len(model.tasks_) > 1:
            raise ValueError('The request names no task; add "tasks", one name for all rows or a list of one per row.')
        tasks = [model.tasks_[0]] * len(table)
    given = tasks if isinstance(tasks, list) else [tasks] * len(table)
    if len(given) != len(table):
        raise ValueError(f"There are {counted(len(given), 'task')} for {counted(len(table), 'row')}; give one per row.")
    if any(value is None or isinstance(value, list | dict) for value in given):
        raise ValueError("A task is missing or no name; give every row a task.")
    known = {str(task): task for task in model.tasks_}
    labels = np.empty(len(table), dtype=object)
    labels[:] = [known.get(level, level) for level in as_levels(pd.Series(given, dtype=object))]
    return labels


def predictions(model: Estimator, table: pd.DataFrame, tasks: Array) -> list[dict[str, Any]]:
    """One object per row: the prediction, for classes their probabilities, and the uncertainty."""
    X: Any = table
    if model.preprocessor_ is None:
        columns = column_names(model)
        try:
            X = table[columns].astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"The model was fitted on numbers, and some cell is none ({error}); repair it.") from None
        X = X if hasattr(model, "feature_names_in_") else X.to_numpy()
    rows: list[dict[str, Any]]
    if hasattr(model, "classes_"):
        probabilities = model.predict_proba(X, tasks=tasks)
        labels = [to_json(label) for label in model.classes_.tolist()]
        rows = [
            {"prediction": labels[p.argmax()], "probabilities": dict(zip(map(str, labels), p.tolist(), strict=True))}
            for p in probabilities
        ]
    else:
        rows = [{"prediction": value} for value in model.predict(X, tasks=tasks).tolist()]
    uncertainty = model.uncertainty(X, tasks=tasks).to_dict(orient="records")
    return [prediction | parts for prediction, parts in zip(rows, uncertainty, strict=True)]
