"""How an estimator reads rows: X of any kind and tasks -> a finite array and task codes, part by part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from vmtl._utils.types import Array
from vmtl.data.preprocessing import TablePreprocessor
from vmtl.estimators.inputs import (
    as_table,
    check_kind,
    check_no_empty_task,
    check_range,
    column_or_error,
    encode_tasks,
    needs_table,
    row_slices,
    take_rows,
    task_values,
)


class Reader(BaseEstimator):  # type: ignore[misc]
    """The part of an estimator that reads its rows, alike when fitting and predicting."""

    tasks_: Array

    def _features(self, X: Any, tasks: Any, y: Any = None, *, reset: bool) -> tuple[Array, Array]:
        """X as a finite array and one task label per row."""
        if self.task_column is not None and (tasks is None or self.task_column in getattr(X, "columns", ())):
            X, column = column_or_error(X, self.task_column)
            tasks = column if tasks is None else tasks
        if reset:
            check_no_empty_task(tasks)
        check_kind(X)
        X = self._preprocess(X, reset)
        options: dict[str, Any] = {
            "reset": reset,
            "accept_sparse": "csr",
            "dtype": [np.float64, np.float32, np.float16],
            "ensure_all_finite": False,
        }
        if reset:
            x, _ = validate_data(self, X, y, **options, y_numeric=False, multi_output=True)
        else:
            x = validate_data(self, X, **options)
        x = x.toarray() if hasattr(x, "toarray") else x
        check_range(x, getattr(self, "feature_names_in_", None), self.dtype)
        if tasks is not None:
            return x, task_values(tasks, len(x))
        labels = np.zeros(len(x), dtype=object)
        if not reset:
            if len(self.tasks_) > 1:
                raise ValueError(f"This model has {len(self.tasks_)} tasks; pass tasks=..., one label per row.")
            labels[:] = self.tasks_[0]
        return x, labels

    def _preprocess(self, X: Any, reset: bool) -> Any:
        """Raw table columns to numbers where X has text, dates or gaps to fill; other X stays as it is."""
        if reset:
            self.preprocessor_: TablePreprocessor | None = None
            if not needs_table(X, self.missing):
                return X
            self.preprocessor_ = TablePreprocessor(missing=self.missing).fit(as_table(X))
        if self.preprocessor_ is None:
            return X
        return self.preprocessor_.transform(as_table(X))

    def _prepare(self, X: Any, tasks: Any) -> tuple[Array, Array]:
        check_is_fitted(self)
        x, labels = self._features(X, tasks, reset=False)
        return x, encode_tasks(labels, list(self.tasks_), self.unknown_task == "average")

    def _in_parts(self, X: Any, tasks: Any, read: Callable[[Array, Array], Array]) -> Array:
        """``read`` (rows, task codes) of all rows, part by part: only one part is ever converted or copied."""
        check_is_fitted(self)
        pieces = row_slices(X)
        if len(pieces) == 1:
            return read(*self._prepare(X, tasks))
        n_rows = pieces[-1].stop
        labels = None if tasks is None else task_values(tasks, n_rows)
        found: Array | None = None
        for piece in pieces:
            values = read(*self._prepare(take_rows(X, piece), None if labels is None else labels[piece]))
            if found is None:
                found = np.empty((n_rows, *values.shape[1:]), dtype=values.dtype)
            found[piece] = values
        assert found is not None
        return found
