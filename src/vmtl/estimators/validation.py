"""How an estimator reads rows: X of any kind and tasks -> a finite array and task codes, part by part."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from vmtl._utils.types import Array, MatrixLike, VectorLike
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
from vmtl.estimators.parameters import Parameters


class InputValidationMixin(Parameters, BaseEstimator):  # type: ignore[misc]
    """The part of an estimator that reads its rows, alike when fitting and predicting."""

    tasks_: Array
    preprocessor_: TablePreprocessor | None

    def _features(
        self, X: MatrixLike, tasks: VectorLike | None, y: VectorLike | None = None, *, reset: bool
    ) -> tuple[Array, Array]:
        """X as a finite array and one task label per row."""
        if self.task_column is not None and (tasks is None or self.task_column in getattr(X, "columns", ())):
            X, column = column_or_error(X, self.task_column)
            tasks = column if tasks is None else tasks
        if reset:
            check_no_empty_task(tasks)
        check_kind(X)
        X = self._preprocess(X, reset)
        options: dict[str, object] = {
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

    def _preprocess(self, X: MatrixLike, reset: bool) -> MatrixLike:
        """Raw table columns to numbers where X has text, dates or gaps to fill; other X stays as it is."""
        if reset:
            self.preprocessor_ = None
            if not needs_table(X, self.missing):
                return X
            self.preprocessor_ = TablePreprocessor(missing=self.missing).fit(as_table(X))
        if self.preprocessor_ is None:
            return X
        return self.preprocessor_.transform(as_table(X))

    def _prepare(self, X: MatrixLike, tasks: VectorLike | None) -> tuple[Array, Array]:
        check_is_fitted(self)
        x, labels = self._features(X, tasks, reset=False)
        return x, encode_tasks(labels, list(self.tasks_), self.unknown_task == "average")

    def _codes(self, X: MatrixLike, tasks: VectorLike | None) -> Array:
        """(n,) the number of the task of each row, -1 for an unknown one that is allowed."""
        return self._in_parts(X, tasks, lambda x, codes: codes)

    def _in_parts(self, X: MatrixLike, tasks: VectorLike | None, predict: Callable[[Array, Array], Array]) -> Array:
        """``predict`` (rows, task codes) of all rows, part by part: only one part is ever converted or copied."""
        check_is_fitted(self)
        first, *rest = row_slices(X)
        if not rest:
            return predict(*self._prepare(X, tasks))
        n_rows = rest[-1].stop
        labels = None if tasks is None else task_values(tasks, n_rows)

        def predict_part(part: slice) -> Array:
            return predict(*self._prepare(take_rows(X, part), None if labels is None else labels[part]))

        values = predict_part(first)
        prediction = np.empty((n_rows, *values.shape[1:]), dtype=values.dtype)
        prediction[first] = values
        for part in rest:
            prediction[part] = predict_part(part)
        return prediction
