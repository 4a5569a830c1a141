"""How an estimator reads rows: X of any kind becomes a finite array, with one task label per row."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from vmtl._utils.types import Array, MatrixLike, VectorLike
from vmtl.data.preprocessing import TablePreprocessor
from vmtl.estimators.inputs.feature_table import (
    as_table,
    check_kind,
    check_range,
    in_training_order,
    needs_table,
)
from vmtl.estimators.inputs.task_column import has_task_column, split_task_column
from vmtl.estimators.inputs.task_labels import check_no_empty_task, task_values

#: What scikit-learn checks of X; NaN and infinity are refused by column below.
CHECKS: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32, np.float16],
    "ensure_all_finite": False,
}


def read_training_rows(estimator: Any, X: MatrixLike, y: VectorLike, tasks: VectorLike | None) -> tuple[Array, Array]:
    """X (n, D) and task labels (n,) of a fit.

    What is learned of the columns is kept by ``estimator``: ``n_features_in_``, ``feature_names_in_`` and
    ``preprocessor_``.
    """
    X, tasks = split_tasks(estimator, X, tasks, n_features=None)
    check_no_empty_task(tasks)
    check_kind(X)
    estimator.preprocessor_ = None
    if needs_table(X, estimator.missing):
        estimator.preprocessor_ = TablePreprocessor(missing=estimator.missing).fit(as_table(X))
        X = estimator.preprocessor_.transform(as_table(X))
    x, _ = validate_data(estimator, X, y, reset=True, y_numeric=False, multi_output=True, **CHECKS)
    x = _finite_array(estimator, x)
    labels = np.zeros(len(x), dtype=object) if tasks is None else task_values(tasks, len(x))
    return x, labels


def read_rows(estimator: Any, X: MatrixLike, tasks: VectorLike | None) -> tuple[Array, Array]:
    """X (n, D) and task labels (n,), read as the fit of ``estimator`` read them."""
    X, tasks = split_tasks(estimator, X, tasks, _n_raw_columns(estimator))
    check_kind(X)
    if estimator.preprocessor_ is None:
        X = in_training_order(X, getattr(estimator, "feature_names_in_", None))
    else:
        X = estimator.preprocessor_.transform(as_table(X))
    x = _finite_array(estimator, validate_data(estimator, X, reset=False, **CHECKS))
    return x, row_labels(estimator, tasks, len(x))


def split_tasks(
    estimator: Any, X: MatrixLike, tasks: VectorLike | None, n_features: int | None
) -> tuple[MatrixLike, VectorLike | None]:
    """X without its task column, if it has one; and ``tasks``, or where they are None that column."""
    column = estimator.task_column
    if column is None or not (tasks is None or has_task_column(X, column, n_features)):
        return X, tasks
    X, found = split_task_column(X, column)
    return X, found if tasks is None else tasks


def row_labels(estimator: Any, tasks: VectorLike | None, n_rows: int) -> Array:
    """(n,) the task of each row; a model of one task knows it."""
    if tasks is not None:
        return task_values(tasks, n_rows)
    if len(estimator.tasks_) > 1:
        raise ValueError(
            f"This model has {len(estimator.tasks_)} tasks; pass tasks=..., one label per row. Tools of scikit-learn "
            "pass them if task_column says which column of X holds them."
        )
    labels = np.empty(n_rows, dtype=object)
    labels[:] = estimator.tasks_[0]
    return labels


def _n_raw_columns(estimator: Any) -> int:
    """Columns of X as users have it, without the task column."""
    if estimator.preprocessor_ is not None:
        return len(estimator.preprocessor_.feature_names_in_)
    return int(estimator.n_features_in_)


def _finite_array(estimator: Any, x: Any) -> Array:
    dense: Array = x.toarray() if hasattr(x, "toarray") else x
    check_range(dense, getattr(estimator, "feature_names_in_", None), getattr(estimator, "dtype", "float64"))
    return np.require(dense, requirements=["C", "W"])  # torch reads no memory that is read-only
