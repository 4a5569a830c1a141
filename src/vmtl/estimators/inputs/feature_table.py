"""X as users have it: arrays, sparse matrices and tables, cut, converted and checked."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from vmtl._utils.messages import first_few, quoted
from vmtl._utils.types import Array, MatrixLike, Unchecked
from vmtl.data.preprocessing import lacking

if TYPE_CHECKING:
    import pandas as pd

#: Numbers of one part of X at prediction: what is converted or copied at a time.
PART_CELLS = 2**23
#: Largest number that X may hold: squares, sums over columns and their inverses stay finite, distances exact enough.
LARGEST = {"float32": 1e15, "float64": 1e18}


def check_range(X: Array, names: Array | None, dtype: str) -> None:
    """NaN, infinity, and numbers whose squares would overflow in ``dtype`` are refused by the name of their column."""
    if X.dtype.kind != "f" or X.size == 0:
        return
    limit = LARGEST[dtype]
    low, high = float(X.min()), float(X.max())
    if -limit <= low and high <= limit:
        return

    def named(bad: Array) -> str:
        return "column " + (first_few(list(bad), most=1) if names is None else quoted(list(names[bad]), most=1))

    bad = np.flatnonzero(~np.isfinite(X).all(axis=0))
    if len(bad):
        if np.isnan(X[:, bad[0]]).any():
            raise ValueError(f"X contains NaN in {named(bad)}; remove these rows, fill them, or set missing='impute'.")
        raise ValueError(f"X contains infinity (inf) in {named(bad)}; replace it by a number or a gap.")
    bad = np.flatnonzero((np.abs(X) > limit).any(axis=0))
    raise ValueError(f"X contains numbers beyond {limit:g} in {named(bad)}, too large for {dtype}; divide the column.")


def check_kind(X: Unchecked) -> None:
    """What no model can read: arrays of dates or complex numbers, tables whose columns cannot be told apart."""
    kind = getattr(getattr(X, "dtype", None), "kind", None)
    if kind in ("m", "M"):
        raise ValueError("X is an array of dates; pass a DataFrame, whose date columns are read, or numbers.")
    if kind == "c":
        raise ValueError("Complex data not supported: X holds complex numbers; pass real and imaginary parts.")
    if hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2 and not X.columns.is_unique:
        repeated = X.columns[X.columns.duplicated()][0]
        raise ValueError(f"The column {repeated!r} occurs twice in X; rename one of them.")


def row_slices(X: MatrixLike) -> list[slice]:
    """X cut into slices of rows of about ``PART_CELLS`` numbers; one slice if it is small or cannot be cut."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2:
        return [slice(None)]
    size = max(1024, PART_CELLS // max(1, shape[1]))
    return [slice(start, min(start + size, shape[0])) for start in range(0, shape[0], size)] or [slice(None)]


def take_rows(X: Unchecked, part: slice) -> MatrixLike:
    """Some rows of an array, a sparse matrix or a DataFrame."""
    if hasattr(X, "iloc"):
        return X.iloc[part]
    return (X.tocsr() if hasattr(X, "tocsr") else X)[part]


def index_of(X: Unchecked) -> pd.Index | None:
    """The index of a DataFrame, which predictions of its rows keep; None of anything else."""
    return getattr(X, "index", None) if hasattr(X, "iloc") else None


def needs_table(X: Unchecked, missing: str) -> bool:
    """Whether X has columns that are not numbers, or gaps that are to be filled."""
    if missing == "impute":
        return True
    return hasattr(X, "dtypes") and hasattr(X, "columns") and any(_is_text(X.iloc[:, j]) for j in range(X.shape[1]))


def _is_text(column: pd.Series) -> bool:
    kind = getattr(column.dtype, "kind", "O")
    if kind != "O":
        return kind not in "biuf"
    return any(isinstance(value, str) for value in column.head(1000))


def in_training_order(X: Unchecked, names: Array | None) -> Unchecked:
    """The columns of a DataFrame that a model was fitted on, in the order of training; other X as it is."""
    if names is None or not hasattr(X, "iloc") or getattr(X, "ndim", 0) != 2 or list(X.columns) == list(names):
        return X
    absent = [name for name in names if name not in X.columns]
    if absent:
        raise ValueError(lacking("X", absent, map(str, X.columns), map(str, names)))
    return X[list(names)]


def as_table(X: Unchecked) -> pd.DataFrame:
    """X as a DataFrame with text column names."""
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        return X
    values = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    if values.ndim != 2:
        raise ValueError(f"X must be a table of rows and columns; got {values.ndim} dimension(s). Reshape your data.")
    return pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])])


def column_or_error(X: Unchecked, column: Hashable) -> tuple[pd.DataFrame, Array]:
    """X without its task column, and that column."""
    if not hasattr(X, "columns"):
        raise ValueError(f"task_column={column!r} needs X to be a DataFrame; pass tasks=... instead.")
    if column not in X.columns:
        columns = quoted(list(X.columns), most=20)
        raise ValueError(f"task_column={column!r} is not a column of X; its columns are {columns}.")
    return X.drop(columns=[column]), np.asarray(X[column], dtype=object)
