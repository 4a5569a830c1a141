"""What users pass in, checked and turned into plain arrays; every error says what to do."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, column_or_1d

from vmtl._utils.messages import did_you_mean, first_few, quoted
from vmtl._utils.types import Array, MatrixLike, VectorLike

if TYPE_CHECKING:
    import pandas as pd

#: What a user passed, before it is known to be anything.
Unchecked: TypeAlias = Any
#: Numbers of one part of X at prediction: what is converted or copied at a time.
PART_CELLS = 2**23
#: Largest number that X may hold: squares, sums over columns and their inverses stay finite.
LARGEST = {"float32": 1e15, "float64": 1e100}


def check_range(X: Array, names: Array | None, dtype: str) -> None:
    """NaN, infinity, and numbers whose squares would overflow are refused by the name of their column."""
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
    raise ValueError(
        f"X contains numbers beyond {limit:g} in {named(bad)}, too large for dtype={dtype!r}; divide the column."
    )


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


def check_prediction(prediction: Iterable[Array], x: Array) -> None:
    """A prediction that overflowed is an error, never an answer."""
    for values in prediction:
        finite = np.isfinite(values).reshape(len(values), -1).all(axis=1)
        if not finite.all():
            largest = float(np.abs(x[int(finite.argmin())]).max())
            raise ValueError(
                f"The prediction overflows for a row with values up to {largest:.3g}, far from all training rows; "
                "check its units, or fit with dtype='float64'."
            )


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


def task_values(tasks: Unchecked, n_rows: int) -> Array:
    """One hashable task label per row, as an object array; in a list, a tuple is one label."""
    if isinstance(tasks, str) or not hasattr(tasks, "__len__"):
        raise ValueError(f"tasks must be one label per row, a 1-d array; got {tasks!r}.")
    if getattr(tasks, "ndim", 1) != 1:
        raise ValueError(f"tasks must be one label per row, a 1-d array; got {tasks.ndim} dimensions.")
    if len(tasks) != n_rows:
        raise ValueError(f"tasks has {len(tasks)} labels but X has {n_rows} rows; give one label per row.")
    values = np.empty(n_rows, dtype=object)
    for row, value in enumerate(tasks):
        values[row] = value.item() if isinstance(value, np.generic) else value
        if not isinstance(value, Hashable):
            raise ValueError(f"tasks must be hashable labels such as text or numbers; got {value!r}.")
        if value is None or (not isinstance(value, str) and str(value) in ("nan", "NaT", "<NA>")):
            raise ValueError("tasks contains a missing label; give every row a task.")
    return values


def check_no_empty_task(tasks: Unchecked) -> None:
    """A category without rows is a task that cannot be learned."""
    if hasattr(tasks, "cat"):
        empty = [value for value in tasks.cat.categories if not (tasks == value).any()]
        if empty:
            raise ValueError(f"Task {empty[0]!r} has no rows; drop it with tasks.cat.remove_unused_categories().")


def unique_tasks(values: Array) -> list[Hashable]:
    """The distinct task labels, sorted where they can be sorted, else in order of appearance."""
    distinct = list(dict.fromkeys(values.tolist()))
    try:
        return sorted(distinct)
    except TypeError:
        return distinct


def encode_tasks(values: Array, known: Sequence[Hashable], allow_unknown: bool) -> Array:
    """Index of each label in ``known``; unknown ones are -1, or an error that names them."""
    place = {label: index for index, label in enumerate(known)}
    codes = np.array([place.get(value, -1) for value in values], dtype=np.int64)
    if not allow_unknown and (codes < 0).any():
        unknown = unique_tasks(values[codes < 0])
        raise ValueError(
            f"Unknown task {unknown[0]!r}{did_you_mean(unknown[0], known)}; the model knows {quoted(known, most=20)}. "
            "Set unknown_task='average' (--unknown-task average) to predict with all known tasks, or 'similar' with "
            "those that it resembles."
        )
    return codes


def check_labels(y: Array) -> Array:
    """Labels of a classification: none is missing, and they can be sorted."""
    if y.dtype == object:
        import pandas as pd

        if pd.isna(y).any():
            raise ValueError("y contains a missing label; remove these rows.")
        if len({isinstance(value, str) for value in y}) > 1:
            raise ValueError("y mixes text and numbers; give all labels one type.")
    return y


def check_classes(y: Array) -> None:
    """Labels that can be classes; fractions are amounts."""
    if type_of_target(y, input_name="y") == "continuous":
        part = next(value for value in y.tolist() if value % 1)
        raise ValueError(
            f"Unknown label type: y holds fractions such as {part:g}, which are amounts rather than classes; use "
            "MultiTaskRegressor, or turn them into text."
        )
    check_classification_targets(y)


def check_targets(y: VectorLike) -> Array:
    """Real targets of a regression, as float64."""
    if getattr(getattr(y, "dtype", None), "kind", None) in ("m", "M"):
        raise ValueError("y holds dates; turn them into numbers, such as days since the first.")
    try:
        values = check_array(y, ensure_2d=False, dtype="numeric", ensure_all_finite=False, ensure_min_samples=0)
        values = np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise ValueError(f"y must be numbers for a regression ({error}); use MultiTaskClassifier for labels.") from None
    if values.ndim != 1 and values.shape[1:] != (1,):
        raise ValueError(f"y must have one target per row; got shape {values.shape}.")
    values = np.asarray(column_or_1d(values, warn=True))
    if not np.isfinite(values).all():
        raise ValueError("y contains NaN or infinity (inf); remove these rows.")
    if np.abs(values).max(initial=0) > LARGEST["float64"]:
        raise ValueError(f"y contains numbers beyond {LARGEST['float64']:g}; use a larger unit.")
    return values


def label_to_json(value: object) -> str | int | float | bool:
    """A label as JSON can hold it, or an error."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str | int | float | bool):
        return value
    raise ValueError(f"A model file holds labels that are text or numbers; {value!r} is {type(value).__name__}.")
