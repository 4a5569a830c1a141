"""One column of a table: what it holds, and its values as numbers or as levels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from vmtl._utils.types import Array
from vmtl.data.column_format import ColumnFormat
from vmtl.data.column_types import column_format

if TYPE_CHECKING:
    import pandas as pd

GAP = "(missing)"
#: Rows from which on a column can look like an identifier.
FEW = 20
#: Equal pairs that chance would make, of which none is seen.
_PAIRS = 7
#: Names of identifiers, names that may be, and names of quantities that seldom repeat.
_ID_NAME = re.compile(r"(^|[^A-Za-z])((?i:id|ids|uuid|guid|mrn))$|[a-z](ID|Id)$|^(?i:unnamed: \d+|rownames)$")
_NUMBER_NAME = re.compile(r"(^|[^A-Za-z])((?i:nr|no|number|key|index|row))$|[a-z](No|Nr)$")
_QUANTITY_NAME = re.compile(r"(?i)year|month|week|day|date|hour|time|age|period|wave|visit")


def column_kind(column: pd.Series) -> str:
    """``number``, ``date`` or ``text``; a column without any value is a number."""
    return column_format(column).kind


def as_numbers(column: pd.Series, form: ColumnFormat, source: object = None) -> Array:
    """(n,) float64 with NaN for gaps; dates become days since 1970-01-01. Errors name the ``source`` of the table."""
    values = form.read(column)
    odd = np.isnan(values) & column.notna().to_numpy()
    if odd.any() and not form.has_gaps_for_odd:
        cell, row = _cell_and_row(column, int(odd.argmax()))
        place = f"Data row {row}" if source is None else f"{source}, data row {row}"
        raise ValueError(
            f"{place}: {cell} in column {column.name!r}, which held {form.kind}s in training; "
            f"write a {form.kind} or leave the cell empty."
        )
    if np.isinf(values).any():
        of = "" if source is None else f" of {source}"
        raise ValueError(f"Column {column.name!r}{of} holds an infinite value; replace it by a number or a gap.")
    return values


def as_levels(column: pd.Series) -> Array:
    """(n,) levels as str; a gap is the level ``(missing)``, and 1, 1.0 and "1" are one level."""
    values = column.astype(object)
    nested = next((value for value in values if isinstance(value, np.ndarray | list | dict)), None)
    if nested is not None:
        raise ValueError(
            f"Column {column.name!r} holds a {type(nested).__name__} in a cell; make a column of each of its values."
        )
    return np.array([_level(value) for value in values], dtype=object)


def first_odd(column: pd.Series, form: ColumnFormat) -> str:
    """The first cell that is no number (or date) and where it stands, for messages."""
    odd = np.isnan(form.read(column)) & column.notna().to_numpy()
    cell, row = _cell_and_row(column, int(odd.argmax()))
    return f"{cell} in data row {row}"


def _cell_and_row(column: pd.Series, place: int) -> tuple[str, str]:
    """A cell, and the number or the label of its row."""
    from pandas import RangeIndex

    row = column.index[place]
    return repr(column.iloc[place]), str(row + 1) if isinstance(column.index, RangeIndex) else repr(row)


def looks_like_identifier(column: pd.Series) -> bool:
    """Whether every row has a text of its own, from which nothing can be learned about other rows."""
    values = column.dropna()
    return len(values) >= FEW and column_kind(column) == "text" and len(set(as_levels(values))) == len(values)


def numbers_the_rows(name: str, values: Array, *, tells: bool) -> bool:
    """Whether whole numbers (n,) that are all different are a number of the row rather than a quantity.

    n numbers drawn from a range of R have about n (n - 1) / 2 R equal pairs, so with 7 expected pairs none occurs once
    in a thousand times: a patient number, not a measurement. What ``tells`` something about the target, or is named
    like a time or an age, may be a quantity all the same; a column that is named id needs no further proof.
    """
    known = values[~np.isnan(values)]
    if len(known) < FEW or (known % 1).any() or len(np.unique(known)) < len(known):
        return False
    if _ID_NAME.search(name):
        return True
    if tells or _QUANTITY_NAME.search(name):
        return False
    pairs = len(known) * (len(known) - 1) / (2 * (np.ptp(known) + 1))
    return bool(_NUMBER_NAME.search(name)) or bool(pairs >= _PAIRS)


def is_constant(column: pd.Series) -> bool:
    """Whether every row has the same value, or none has any."""
    return len(column) > 1 and column.nunique(dropna=False) == 1


def _level(value: object) -> str:
    if value is None or str(value) == "<NA>" or value != value:  # in this order: pandas.NA cannot be compared
        return GAP
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)
