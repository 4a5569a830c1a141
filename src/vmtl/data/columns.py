"""One column of a table: what it holds, and its values as numbers or as levels."""

from __future__ import annotations

import datetime
import math
import numbers
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from vmtl._utils.types import Array

if TYPE_CHECKING:
    import pandas as pd

GAP = "(missing)"
_ISO_DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?"
_SECONDS_PER_DAY = 86_400
#: From this share of numbers on, the other cells of a column look like slips.
_NEARLY = 0.9
#: Rows from which on a column can look like an identifier.
FEW = 20
#: Equal pairs that chance would make, of which none is seen.
_PAIRS = 7
_ID_NAME = re.compile(r"(^|[^A-Za-z])((?i:id|uuid|mrn|nr|no|number|key|index))$|[a-z](ID|Id|No|Nr)$")


def column_kind(column: pd.Series) -> str:
    """``number``, ``date`` or ``text``; a column without any value is a number."""
    from pandas.api import types

    if types.is_datetime64_any_dtype(column.dtype):
        return "date"
    if types.is_timedelta64_dtype(column.dtype):
        raise ValueError(f"Column {column.name!r} holds time spans; turn them into numbers first.")
    if types.is_numeric_dtype(column.dtype) or types.is_bool_dtype(column.dtype):
        return "number"
    if isinstance(column.dtype, _categorical_dtype()):
        return "text"
    values = column.dropna()
    if not len(values) or values.map(lambda value: isinstance(value, numbers.Real | np.bool_)).all():
        return "number"
    if values.map(lambda value: isinstance(value, datetime.date)).all():
        return "date"
    if values.map(lambda value: isinstance(value, str)).all() and values.str.fullmatch(_ISO_DATE).all():
        return "date"
    return "text"


def as_numbers(column: pd.Series, kind: str, source: object = None) -> Array:
    """(n,) float64 with NaN for gaps; dates become days since 1970-01-01. Errors name the ``source`` of the table."""
    import pandas as pd

    if kind == "date":
        try:
            moments = pd.to_datetime(column, utc=True, format="ISO8601")
        except (ValueError, TypeError) as error:
            raise ValueError(_changed_kind(column, kind, source)) from error
        if moments.dt.unit != "ns":  # nanoseconds end in 2262, and 9999-12-31 is a usual "never"
            moments = moments.dt.as_unit("us")
        start = pd.Timestamp(0, tz="UTC").as_unit(moments.dt.unit)
        return np.asarray((moments - start).dt.total_seconds() / _SECONDS_PER_DAY)
    try:
        values = np.asarray(pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan))
    except OverflowError:  # a whole number of more than 308 digits
        values = np.full(len(column), np.inf)
    except (ValueError, TypeError) as error:
        raise ValueError(_changed_kind(column, kind, source)) from error
    if np.isinf(values).any():
        of = "" if source is None else f" of {source}"
        raise ValueError(f"Column {column.name!r}{of} holds an infinite value; replace it by a number or a gap.")
    return values


def _changed_kind(column: pd.Series, kind: str, source: object) -> str:
    """The sentence on the first cell that is not what its column held in training."""
    cell, row = _first_odd(column, kind)
    place = f"Data row {row}" if source is None else f"{source}, data row {row}"
    return (
        f"{place}: {cell} in column {column.name!r}, which held {kind}s in training; "
        f"write a {kind} or leave the cell empty."
    )


def as_levels(column: pd.Series) -> Array:
    """(n,) levels as str; a gap is the level ``(missing)``, and 1, 1.0 and "1" are one level."""
    values = column.astype(object)
    nested = next((value for value in values if isinstance(value, np.ndarray | list | dict)), None)
    if nested is not None:
        raise ValueError(
            f"Column {column.name!r} holds a {type(nested).__name__} in a cell; make a column of each of its values."
        )
    return np.array([_level(value) for value in values], dtype=object)


def odd_cells(column: pd.Series, kind: str = "number") -> Array:
    """Places of the cells that are neither a gap nor a number (or date)."""
    import pandas as pd

    cells = column.astype(object)
    if kind == "date":
        read = pd.to_datetime(cells, utc=True, format="ISO8601", errors="coerce")
    else:
        try:
            read = pd.to_numeric(cells, errors="coerce")
        except OverflowError:  # a whole number of more than 308 digits
            read = cells.map(_as_float)
    return np.flatnonzero(read.isna() & column.notna())


def _as_float(cell: Any) -> float:
    """A cell as a number; NaN if it is none."""
    try:
        return float(cell)
    except OverflowError:
        return math.inf
    except (ValueError, TypeError):
        return math.nan


def first_odd(column: pd.Series, kind: str = "number") -> str:
    """The first cell that is no number (or date) and where it stands, for messages."""
    cell, row = _first_odd(column, kind)
    return f"{cell} in data row {row}"


def _first_odd(column: pd.Series, kind: str) -> tuple[str, str]:
    """That cell, and the number or the label of its row."""
    from pandas import RangeIndex

    place = next(iter(odd_cells(column, kind)), 0)
    row = column.index[place]
    return repr(column.iloc[place]), str(row + 1) if isinstance(column.index, RangeIndex) else repr(row)


def slips(column: pd.Series) -> Array:
    """Places of the few cells that keep a column from being numbers; none if it is numbers, or text altogether."""
    if column_kind(column) != "text":
        return np.zeros(0, dtype=np.int64)
    odd = odd_cells(column)
    return odd[:0] if len(odd) > (1 - _NEARLY) * column.notna().sum() else odd


def looks_like_identifier(column: pd.Series) -> bool:
    """Whether nearly every row has a text of its own, from which nothing can be learned about other rows."""
    values = column.dropna()
    return len(values) >= FEW and column_kind(column) == "text" and values.nunique() >= _NEARLY * len(values)


def numbers_the_rows(column: pd.Series, task: Array | None = None) -> bool:
    """Whether whole numbers never repeat, in a task or in all rows, although by chance they would; in any order.

    n numbers drawn from a range of R have about n (n - 1) / 2 R equal pairs, so with 7 expected pairs none occurs once
    in a thousand times: a patient number, not a measurement. A column that is called id needs no such proof.
    """
    import pandas as pd

    if column_kind(column) != "number":
        return False
    values = pd.Series(as_numbers(column, "number"))
    known = values.notna().to_numpy()
    if known.sum() < FEW or (values[known] % 1).any():
        return False
    if values[known].is_unique and _ID_NAME.search(str(column.name)):
        return True
    groups = [np.zeros(known.sum(), dtype=int), *([] if task is None else [task[known]])]
    return any(_expected_pairs(values[known].reset_index(drop=True), group) >= _PAIRS for group in groups)


def _expected_pairs(values: pd.Series, group: Array) -> float:
    """Equal pairs within groups that chance would make of numbers of these ranges; 0 where there is one."""
    parts = values.groupby(group)
    if (parts.nunique() < parts.size()).any():
        return 0.0
    n, span = parts.size(), parts.max() - parts.min() + 1
    return float((n * (n - 1) / (2 * span)).sum())


def is_constant(column: pd.Series) -> bool:
    """Whether every row has the same value, or none has any."""
    return len(column) > 1 and column.nunique(dropna=False) == 1


def _level(value: object) -> str:
    if value is None or str(value) == "<NA>" or value != value:  # in this order: pandas.NA cannot be compared
        return GAP
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _categorical_dtype() -> type:
    from pandas import CategoricalDtype

    return CategoricalDtype  # type: ignore[no-any-return]
