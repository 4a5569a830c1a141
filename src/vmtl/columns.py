"""One column of a table: what it holds, and its values as numbers or as levels."""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from vmtl.problem import Array

GAP = "(missing)"
_ISO_DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?"
_SECONDS_PER_DAY = 86_400


def column_kind(column: Any) -> str:
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


def as_numbers(column: Any, kind: str) -> Array:
    """(n,) float64 with NaN for gaps; dates become days since 1970-01-01."""
    import pandas as pd

    if kind == "date":
        try:
            moments = pd.to_datetime(column, utc=True, format="ISO8601")
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"Column {column.name!r} held dates in training but now {_example(column)!r}; repair it."
            ) from error
        return np.asarray((moments - pd.Timestamp(0, tz="UTC")).dt.total_seconds() / _SECONDS_PER_DAY)
    try:
        values = np.asarray(pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan))
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"Column {column.name!r} held numbers in training but now {_example(column)!r}; repair it."
        ) from error
    if np.isinf(values).any():
        raise ValueError(f"Column {column.name!r} holds an infinite value; replace it by a number or a gap.")
    return values


def as_levels(column: Any) -> Array:
    """(n,) levels as str; a gap is the level ``(missing)``, and 1, 1.0 and "1" are one level."""
    return np.array([_level(value) for value in column.astype(object)], dtype=object)


def listed(names: Sequence[str], most: int = 5) -> str:
    """Names in quotes, cut to the first few: for messages."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _level(value: Any) -> str:
    if value is None or value != value or str(value) == "<NA>":
        return GAP
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _example(column: Any) -> Any:
    text = [value for value in column.dropna() if isinstance(value, str)]
    return text[0] if text else column.dropna().iloc[0]


def _categorical_dtype() -> type:
    from pandas import CategoricalDtype

    return CategoricalDtype  # type: ignore[no-any-return]
