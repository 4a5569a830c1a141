"""The body of a prediction request: JSON to checked rows, task labels and options.

A request says what is wrong with it in one sentence (ValueError). A request whose rows a model is sure to take may be
predicted together with others; one that it might refuse is predicted alone, so that it spoils no other.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from vmtl._utils.messages import counted, did_you_mean, quoted
from vmtl.data.columns import as_levels
from vmtl.data.preprocessing import lacking
from vmtl.serving.facts import column_kinds, takes_gaps

if TYPE_CHECKING:
    from vmtl.serving.facts import Estimator

EXAMPLE = '{"rows": [{"column": 1.5}], "tasks": "name"}'
#: Numbers up to this size are sure to be taken; no number beyond the other one can be computed with.
SURE, LARGEST = 1e15, 1e300
#: Rows of requests that are predicted together at most.
BATCH_ROWS = 256


@dataclass(frozen=True)
class Options:
    """What an answer says besides the prediction; requests with the same options can be predicted together.

    Parameters
    ----------
    coverage : float or None
        Add intervals (regression) or sets of classes that hold the truth this often.
    uncertainty : bool
        Add total, aleatoric and epistemic uncertainty.
    """

    coverage: float | None = None
    uncertainty: bool = False

    def __post_init__(self) -> None:
        coverage = self.coverage
        if coverage is not None and (type(coverage) not in (int, float) or not 0 < coverage < 1):
            raise ValueError(f'"coverage" is {coverage!r}; give a number between 0 and 1, such as 0.9.')
        if not isinstance(self.uncertainty, bool):
            raise ValueError(f'"uncertainty" is {self.uncertainty!r}; give true or false.')


OPTIONS = tuple(field.name for field in fields(Options))
KEYS = ("rows", "tasks", *OPTIONS)


@dataclass(frozen=True)
class PredictionRequest:
    """Rows to predict, as cells (n rows of D values in the order of the model's columns), and their tasks."""

    rows: list[list[Any]]
    tasks: list[Any]
    options: Options
    alone: bool


class RequestReader:
    """Reads requests for one model."""

    def __init__(self, model: Estimator, max_rows: int) -> None:
        kinds = column_kinds(model)
        self.columns, self.kinds, self.max_rows = list(kinds), list(kinds.values()), max_rows
        self.known = {str(task): task for task in model.tasks_}
        self.takes_gaps = takes_gaps(model)
        self.task_column = getattr(model, "metadata_", {}).get("task", model.task_column)

    def read(self, body: bytes) -> PredictionRequest:
        """The request in the body, or a ValueError of one sentence."""
        document = _parse(body)
        given = document["rows"]
        if isinstance(given, dict):
            rows, column = self._read_columns(given)
        elif isinstance(given, list):
            self._check_count(len(given))
            rows = [self._read_row(row, number) for number, row in enumerate(given, start=1)]
            column = self._tasks_of(given)
        else:
            raise ValueError(f'"rows" is {_shown(given)}; give a list of rows, or an object of columns.')
        self._check_cells(rows)
        tasks = self._read_tasks(document.get("tasks"), column, len(rows))
        options = Options(**{name: document[name] for name in OPTIONS if name in document})
        return PredictionRequest(rows, tasks, options, alone=not self._is_sure(rows, tasks))

    def _read_columns(self, given: dict[str, Any]) -> tuple[list[list[Any]], list[Any] | None]:
        strange = [name for name, values in given.items() if not isinstance(values, list)]
        if strange:
            raise ValueError(f"Column {strange[0]!r} is {_shown(given[strange[0]])}; give a list, one value per row.")
        lengths = {name: len(values) for name, values in given.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"The columns differ in length ({lengths}); give each one value per row.")
        self._check_count(next(iter(lengths.values()), 0))
        absent = [name for name in self.columns if name not in given]
        if absent:
            raise ValueError(lacking("The request", absent, given, self.columns))
        rows = [list(row) for row in zip(*(given[name] for name in self.columns), strict=True)]
        return rows, given.get(self.task_column)

    def _read_row(self, row: Any, number: int) -> list[Any]:
        if isinstance(row, dict):
            try:
                return [row[name] for name in self.columns]
            except KeyError:
                absent = [name for name in self.columns if name not in row]
                raise ValueError(lacking(f"Row {number}", absent, row, self.columns)) from None
        if not isinstance(row, list) or len(row) != len(self.columns):
            values = counted(len(self.columns), "value")
            raise ValueError(f"Row {number} is neither an object nor a list of {values}; repair it.")
        return row

    def _tasks_of(self, rows: list[Any]) -> list[Any] | None:
        """The task of each row where rows are objects that name it."""
        if self.task_column is None or not any(isinstance(row, dict) and self.task_column in row for row in rows):
            return None
        return [row.get(self.task_column) if isinstance(row, dict) else None for row in rows]

    def _check_count(self, n_rows: int) -> None:
        if not 0 < n_rows <= self.max_rows:
            raise ValueError(f"The request has {counted(n_rows, 'row')}; send between 1 and {self.max_rows} at a time.")

    def _check_cells(self, rows: list[list[Any]]) -> None:
        """No cell is a list, an object, or a number that no float can hold."""
        if not {list, dict, int} & set(map(type, chain.from_iterable(rows))):
            return
        for number, row in enumerate(rows, start=1):
            for name, cell in zip(self.columns, row, strict=True):
                if isinstance(cell, list | dict):
                    raise ValueError(f"Row {number} holds {_shown(cell)} in column {name!r}; give one value.")
                if isinstance(cell, int) and abs(cell) > LARGEST:
                    raise ValueError(f"Row {number} holds a number beyond {LARGEST:g} in column {name!r}; repair it.")

    def _read_tasks(self, tasks: Any, column: list[Any] | None, n_rows: int) -> list[Any]:
        """One label per row as the model knows them: given, the column of the rows, or the only one."""
        import pandas as pd

        if tasks is None:
            tasks = column
        if tasks is None:
            if len(self.known) > 1:
                raise ValueError(
                    'The request names no task; add "tasks", one name for all rows or a list of one per row.'
                )
            return list(self.known.values()) * n_rows
        given = tasks if isinstance(tasks, list) else [tasks] * n_rows
        if len(given) != n_rows:
            raise ValueError(f"There are {counted(len(given), 'task')} for {counted(n_rows, 'row')}; give one per row.")
        if any(value is None or isinstance(value, list | dict) for value in given):
            raise ValueError("A task is missing or no name; give every row a task.")
        if all(isinstance(value, str) for value in given):
            return [self.known.get(level, level) for level in given]
        return [self.known.get(level, level) for level in as_levels(pd.Series(given, dtype=object))]

    def _is_sure(self, rows: list[list[Any]], tasks: list[Any]) -> bool:
        """Whether the model takes these rows whatever stands beside them, and predicts each by itself."""
        if len(rows) > BATCH_ROWS or not set(map(str, tasks)) <= self.known.keys():
            return False
        return all(self._is_sure_cell(cell, kind) for row in rows for cell, kind in zip(row, self.kinds, strict=True))

    def _is_sure_cell(self, cell: Any, kind: str) -> bool:
        if cell is None:
            return self.takes_gaps
        if kind == "number":
            return type(cell) in (int, float) and -SURE <= cell <= SURE
        if kind == "date" and isinstance(cell, str):
            with suppress(ValueError):
                return datetime.fromisoformat(cell) is not None
        return kind == "text" and cell == cell  # not NaN, which is a gap


def _parse(body: bytes) -> dict[str, Any]:
    """The JSON object in the body; it has rows, and no key that nobody reads."""
    try:
        document = json.loads(body)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ValueError(
            f"The request is not valid JSON: {error.msg} at {place}; send, for example, {EXAMPLE}."
        ) from None
    except UnicodeDecodeError as error:
        raise ValueError(f"The request is not UTF-8 text (byte {error.start + 1}); send JSON in UTF-8.") from None
    except (ValueError, RecursionError) as error:
        reason = "lists nested too deeply" if isinstance(error, RecursionError) else "a number with too many digits"
        raise ValueError(f"The request holds {reason}; send, for example, {EXAMPLE}.") from None
    if not isinstance(document, dict):
        raise ValueError(f"The request is {_shown(document)}, not an object; send, for example, {EXAMPLE}.")
    strange = [key for key in document if key not in KEYS]
    if strange:
        near = did_you_mean(strange[0], KEYS) if len(strange) == 1 else ""
        keys = "key" if len(strange) == 1 else "keys"
        raise ValueError(f"The request has the unknown {keys} {quoted(strange)}{near}; it takes {', '.join(KEYS)}.")
    if "rows" not in document:
        raise ValueError(f'The request has no "rows"; send, for example, {EXAMPLE}.')
    return document


def _shown(value: Any) -> str:
    """A value of a request for a message, cut to a length that can be read."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:37] + "..."


def join(requests: Sequence[PredictionRequest]) -> tuple[list[list[Any]], np.ndarray]:
    """Rows of all requests one after the other, and their tasks (n,)."""
    rows = [row for request in requests for row in request.rows]
    tasks = np.empty(len(rows), dtype=object)
    tasks[:] = [task for request in requests for task in request.tasks]
    return rows, tasks
