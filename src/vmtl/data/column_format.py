"""What a column was taken for, and how its cells are read: as numbers or as days."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from vmtl._utils.types import Array
from vmtl.data.cells import parse_date, parse_number

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("number", "date", "text")


@dataclass(frozen=True)
class ColumnFormat:
    """What a column was taken for, and how its cells are read.

    kind : ``number``, ``date`` or ``text``.
    decimal : the decimal sign of numbers in text cells, ``.`` or ``,``; empty where cells are plain numbers.
    unit : ``%`` or a currency that the cells carry.
    order : the order of day and month in text cells, ``dmy`` or ``mdy``; empty where dates are unambiguous.
    is_guess : no cell decides between two readings.
    has_gaps_for_odd : a cell that cannot be read counts as missing; else it is an error.
    """

    kind: str
    decimal: str = ""
    unit: str = ""
    order: str = ""
    is_guess: bool = False
    has_gaps_for_odd: bool = False

    def __post_init__(self) -> None:
        wrong = self.kind not in KINDS or self.decimal not in ("", ".", ",") or self.order not in ("", "dmy", "mdy")
        if wrong or not isinstance(self.unit, str):
            raise ValueError(f"A column cannot be read as {asdict(self)}; fit the model again.")

    def __deepcopy__(self, memo: object) -> ColumnFormat:
        return self  # pandas copies what a table carries at every step

    def to_json(self) -> dict[str, object]:
        """Its fields, without those that have their default."""
        default = ColumnFormat(self.kind)
        return {name: value for name, value in asdict(self).items() if value != getattr(default, name)}

    @classmethod
    def from_json(cls, kind: str, document: Mapping[str, Any]) -> ColumnFormat:
        """The way back; fields of other versions are ignored."""
        known = {field.name for field in fields(cls)} - {"kind"}
        return cls(kind, **{name: value for name, value in document.items() if name in known})

    def read(self, column: pd.Series) -> Array:
        """(n,) float64: numbers, or days since 1970-01-01; NaN for gaps and for cells that cannot be read."""
        return _read_dates(column, self) if self.kind == "date" else _read_numbers(column, self)

    def __str__(self) -> str:
        return describe(self)


def describe(form: ColumnFormat) -> str:
    """What a column was taken for, in a few words."""
    if form.kind == "number":
        parts = ["percent" if form.unit == "%" else form.unit, "decimal comma" if form.decimal == "," else ""]
        told = ", ".join(part for part in parts if part)
        return f"number ({told})" if told else "number"
    named = {"dmy": "date (day first)", "mdy": "date (month first)"}
    return named.get(form.order, form.kind)


def _read_numbers(column: pd.Series, form: ColumnFormat) -> Array:
    import pandas as pd

    has_text = not pd.api.types.is_numeric_dtype(column.dtype)
    if not (has_text and form.decimal):
        try:
            read = pd.to_numeric(column.astype(object) if has_text else column, errors="coerce")
        except OverflowError:  # a whole number of more than 308 digits
            read = column.astype(object).map(_as_float)
        return np.asarray(read.to_numpy(dtype=np.float64, na_value=np.nan))
    return _each_distinct(column, lambda cell: parse_number(cell, form.decimal, form.unit))


def _read_dates(column: pd.Series, form: ColumnFormat) -> Array:
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(column.dtype):
        moments = pd.to_datetime(column, utc=True, format="ISO8601", errors="coerce")
        if moments.dt.unit != "ns":  # nanoseconds end in 2262, and 9999-12-31 is a usual "never"
            moments = moments.dt.as_unit("us")
        start = pd.Timestamp(0, tz="UTC").as_unit(moments.dt.unit)
        days = np.asarray((moments - start).dt.total_seconds() / 86_400)
        if not (np.isnan(days) & column.notna().to_numpy()).any():
            return days
    return _each_distinct(column, lambda cell: parse_date(cell, form.order or "ymd"))


def _each_distinct(column: pd.Series, read: Callable[[str], float | None]) -> Array:
    """Every distinct cell read once; other values than text as they are."""
    values = column.astype(object)
    known = {value: read(value if isinstance(value, str) else _as_text(value)) for value in values.dropna().unique()}
    return np.array([known.get(value, np.nan) for value in values], dtype=np.float64)


def _as_float(cell: Any) -> float:
    """A cell as a number; NaN if it is none."""
    try:
        return float(cell)
    except OverflowError:
        return math.inf
    except (ValueError, TypeError):
        return math.nan


def _as_text(value: object) -> str:
    return repr(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
