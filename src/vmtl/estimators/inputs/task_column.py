"""The column of X that holds the task of each row, by its name or its position."""

from __future__ import annotations

from collections.abc import Hashable
from numbers import Integral

import numpy as np

from vmtl._utils.messages import quoted
from vmtl._utils.types import Array, MatrixLike, Unchecked


def check_task_column(column: Hashable | None) -> None:
    """A name or a position."""
    if not isinstance(column, Hashable):
        raise ValueError(f"task_column must be the name or the position of a column; got {column!r}.")


def has_task_column(X: Unchecked, column: Hashable, n_features: int | None) -> bool:
    """Whether X still holds its task column.

    A name is looked up. For a position, the number of columns decides: ``n_features`` is how many a fitted model
    reads, None before the fit.
    """
    if column in getattr(X, "columns", ()):
        return True
    shape = np.shape(X)
    return _is_position(column) and len(shape) == 2 and n_features in (None, shape[1] - 1)


def split_task_column(X: Unchecked, column: Hashable) -> tuple[MatrixLike, Array]:
    """X without its task column, and that column as an object array."""
    if hasattr(X, "columns"):
        return _split_frame(X, column)
    if not _is_position(column):
        raise ValueError(
            f"task_column={column!r} needs X to be a DataFrame; pass tasks=... instead, or the position of the column."
        )
    if hasattr(X, "toarray"):
        raise ValueError(f"task_column={column!r} needs X to be a DataFrame or an array; pass tasks=... instead.")
    values = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
    if values.ndim != 2:
        raise ValueError(f"X must be a table of rows and columns; got {values.ndim} dimension(s). Reshape your data.")
    place = _position(column, values.shape[1])
    return np.delete(values, place, axis=1), np.asarray(values[:, place], dtype=object)


def _split_frame(X: Unchecked, column: Hashable) -> tuple[MatrixLike, Array]:
    if column in X.columns:
        return X.drop(columns=[column]), np.asarray(X[column], dtype=object)
    if not _is_position(column):
        columns = quoted(list(X.columns), most=20)
        raise ValueError(f"task_column={column!r} is not a column of X; its columns are {columns}.")
    place = _position(column, X.shape[1])
    others = [number for number in range(X.shape[1]) if number != place]
    return X.iloc[:, others], np.asarray(X.iloc[:, place], dtype=object)


def _is_position(column: Hashable) -> bool:
    return isinstance(column, Integral) and not isinstance(column, bool)


def _position(column: Unchecked, n_columns: int) -> int:
    if not -n_columns <= column < n_columns:
        raise ValueError(f"task_column={column} is not a column of X, which has {n_columns}.")
    return int(column) % n_columns
