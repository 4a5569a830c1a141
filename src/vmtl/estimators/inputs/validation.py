"""How an estimator reads rows: X of any kind and tasks -> a finite array and task codes, part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from vmtl._utils.threads import threads
from vmtl._utils.types import Array, MatrixLike, VectorLike
from vmtl.data.preprocessing import TablePreprocessor
from vmtl.data.rows import Rows
from vmtl.estimators.inputs.feature_table import (
    as_table,
    check_kind,
    check_range,
    column_or_error,
    in_training_order,
    needs_table,
    row_slices,
    take_rows,
)
from vmtl.estimators.inputs.task_labels import check_no_empty_task, encode_tasks, task_values
from vmtl.estimators.inputs.unknown_tasks import Representations, RowTasks, Strangers
from vmtl.estimators.parameters import Parameters
from vmtl.inference.fitted import Fitted
from vmtl.inference.prediction import Predictor


class InputValidationMixin(Parameters, BaseEstimator):  # type: ignore[misc]
    """The part of an estimator that reads its rows, alike when fitting and predicting."""

    tasks_: Array
    _fitted: Fitted
    _predictor: Predictor
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
            return in_training_order(X, getattr(self, "feature_names_in_", None))
        return self.preprocessor_.transform(as_table(X))

    def _prepare(
        self, X: MatrixLike, tasks: VectorLike | None, strangers: Strangers | None = None
    ) -> tuple[Array, RowTasks]:
        """X as an array, and the task of each row; ``strangers`` = the unknown ones, if they are known already."""
        check_is_fitted(self)
        if strangers is None:
            strangers = self._strangers([(X, tasks)])
        x, labels = self._features(X, tasks, reset=False)
        codes = encode_tasks(labels, list(self.tasks_), self.unknown_task != "error")
        return x, strangers.row_tasks(labels, codes)

    def _strangers(self, parts: Iterable[tuple[MatrixLike, VectorLike | None]]) -> Strangers:
        """The unknown tasks of some rows, given part by part."""
        if self.unknown_task != "similar":
            return Strangers.alike(len(self.tasks_))
        seen = Representations()
        for X, tasks in parts:
            x, labels = self._features(X, tasks, reset=False)
            unknown = encode_tasks(labels, list(self.tasks_), allow_unknown=True) < 0
            if unknown.any():
                with threads(self.n_threads):
                    z = self._predictor.features(x[unknown], np.zeros(int(unknown.sum()), dtype=np.int64))
                seen.add(labels[unknown], z)
        return seen.strangers(self._fitted) if seen.sums else Strangers.alike(len(self.tasks_))

    def _codes(self, X: MatrixLike, tasks: VectorLike | None) -> Array:
        """(n,) the number of the task of each row, -1 for an unknown one that is allowed."""
        return np.maximum(self._in_parts(X, tasks, lambda x, row_tasks: row_tasks.codes), -1)

    def _in_parts(self, X: MatrixLike, tasks: VectorLike | None, predict: Callable[[Array, RowTasks], Array]) -> Array:
        """``predict`` (rows, their tasks) of all rows, part by part: only one part is ever converted or copied."""
        check_is_fitted(self)
        slices = row_slices(X)
        if len(slices) == 1:
            return predict(*self._prepare(X, tasks))
        n_rows = slices[-1].stop
        labels = None if tasks is None else task_values(tasks, n_rows)

        def parts() -> Iterator[tuple[MatrixLike, VectorLike | None]]:
            return ((take_rows(X, part), None if labels is None else labels[part]) for part in slices)

        strangers = self._strangers(parts())
        values = (predict(*self._prepare(*part, strangers)) for part in parts())
        first = next(values)
        prediction = np.empty((n_rows, *first.shape[1:]), dtype=first.dtype)
        prediction[slices[0]] = first
        for part, value in zip(slices[1:], values, strict=True):
            prediction[part] = value
        return prediction

    def _encode_more(self, y: VectorLike, sample_weight: Array) -> tuple[Array, Array, int]:
        """Targets as the fit encoded them, their weights, and the number of classes."""
        raise NotImplementedError

    def _rows(self, x: Array, y: Array, codes: Array, weight: Array, n_tasks: int, n_classes: int) -> Rows:
        """Training rows as tensors."""
        raise NotImplementedError
