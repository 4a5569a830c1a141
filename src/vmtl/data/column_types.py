"""Columns are recognised by their cells: numbers and dates however they are written, or text."""

from __future__ import annotations

import datetime
import numbers
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from vmtl._utils.messages import did_you_mean
from vmtl._utils.types import Array
from vmtl.data.cells import parse_date, parse_number, possible_orders, unit_of
from vmtl.data.column_format import ColumnFormat

if TYPE_CHECKING:
    import pandas as pd

#: From this share of numbers (or dates) on, the other cells of a column look like slips.
NEARLY = 0.9
#: Distinct cells that are looked at first: where few of them are numbers or dates, the column is text.
_FIRST, _FEW_OF_FIRST = 50, 0.3
#: What ``--type`` and ``set_column_types`` take.
COLUMN_TYPES = ("number", "decimal-point", "decimal-comma", "date", "day-first", "month-first", "text")
#: The entry of ``DataFrame.attrs`` that holds them, and the one with the decimal sign of the file.
TYPES, DECIMAL = "vmtl_column_types", "vmtl_decimal"
_ISO_DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?"


def column_formats(table: pd.DataFrame) -> dict[str, ColumnFormat]:
    """The format of every column: as ``set_column_types`` says, or as its cells say."""
    types, decimal = table.attrs.get(TYPES, {}), table.attrs.get(DECIMAL, ".")
    formats = {}
    for place, name in enumerate(map(str, table.columns)):
        kind, column = types.get(name), table.iloc[:, place]
        if isinstance(kind, ColumnFormat):
            formats[name] = kind
        else:
            formats[name] = column_format(column, decimal) if kind is None else forced_format(column, kind, decimal)
    return formats


def keep_formats(table: pd.DataFrame) -> None:
    """Note in the table what its text cells were taken for, so that they are looked at once; it must not change."""
    from pandas.api import types

    formats = column_formats(table)
    text = [str(name) for name, dtype in table.dtypes.items() if not types.is_numeric_dtype(dtype)]
    table.attrs[TYPES] = {**table.attrs.get(TYPES, {}), **{name: formats[name] for name in text}}


def set_column_types(table: pd.DataFrame, types: Mapping[str, str]) -> pd.DataFrame:
    """A copy of the table that says what some columns are, whatever their cells look like.

    An estimator that is fitted on it reads these columns in that way, then and at every prediction.

    Parameters
    ----------
    table : DataFrame
        Rows for training.
    types : dict of str to str
        For a column, one of ``"number"``, ``"decimal-point"``, ``"decimal-comma"``, ``"date"``, ``"day-first"``,
        ``"month-first"`` (dates such as 03/04/2023) and ``"text"``. A cell that cannot be read then counts as missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from vmtl.datasets import set_column_types
    >>> rows = set_column_types(pd.DataFrame({"ward": [1, 2], "day": ["03/04/2023", "05/04/2023"]}),
    ...                         {"ward": "text", "day": "day-first"})
    """
    if not types:
        return table
    names = list(map(str, table.columns))
    for name, kind in types.items():
        if name not in names:
            raise ValueError(f"There is no column {name!r}{did_you_mean(name, names)} whose type could be set.")
        if kind not in COLUMN_TYPES:
            raise ValueError(f"The type of {name!r} is {kind!r}; choose one of {', '.join(COLUMN_TYPES)}.")
    typed = table.copy(deep=False)
    typed.attrs = {**table.attrs, TYPES: {**table.attrs.get(TYPES, {}), **types}}
    for name in types:
        typed_format(typed.iloc[:, names.index(name)], types[name])  # says so at once where no cell can be read
    return typed


def typed_format(column: pd.Series, kind: str, decimal: str = ".") -> ColumnFormat:
    """The format of a column that was said to be of this kind; an error where none of its cells is."""
    form = forced_format(column, kind, decimal)
    if form.kind != "text" and column.notna().any() and np.isnan(form.read(column)).all():
        cell = column.dropna().iloc[0]
        raise ValueError(f"Column {column.name!r} cannot be read as {kind}: no cell is a {form.kind}; one is {cell!r}.")
    return form


def forced_format(column: pd.Series, kind: str, decimal: str) -> ColumnFormat:
    """The format of a column that was said to be of this kind."""
    if kind == "text":
        return ColumnFormat("text")
    cells = _text_cells(column)
    if kind in ("number", "decimal-point", "decimal-comma"):
        sign = {"decimal-point": ".", "decimal-comma": ","}.get(kind) or _decimal_sign(cells, decimal)[0]
        return ColumnFormat("number", sign, _common_unit(cells), has_gaps_for_odd=True)
    order = {"day-first": "dmy", "month-first": "mdy"}.get(kind) or _order(cells)[0] or ""
    return ColumnFormat("date", order=order, has_gaps_for_odd=True)


def plain_kind(column: pd.Series) -> str:
    """``number``, ``date`` or ``text``, by the type of its values: in text cells only ISO dates are dates."""
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
    if not len(values):
        return "number"
    first = values.iloc[0]
    if isinstance(first, str):
        is_iso = re.fullmatch(_ISO_DATE, first) and values.map(lambda value: isinstance(value, str)).all()
        return "date" if is_iso and values.str.fullmatch(_ISO_DATE).all() else "text"
    for kind, types_of in (("number", numbers.Real | np.bool_), ("date", datetime.date)):
        if isinstance(first, types_of) and values.map(lambda value, kinds=types_of: isinstance(value, kinds)).all():
            return kind
    return "text"


def column_format(column: pd.Series, decimal: str = ".") -> ColumnFormat:
    """What the cells of a column say. ``decimal`` = the decimal sign where they leave it open."""
    kind = plain_kind(column)
    if kind != "text" or isinstance(column.dtype, _categorical_dtype()):
        return ColumnFormat(kind)
    if not column.dropna().map(lambda value: isinstance(value, str)).all():
        return ColumnFormat("text")
    cells = _text_cells(column)
    if _is_date(cells[:_FIRST]).all() and (dates := _date_format(cells)) is not None:
        return dates
    if _is_number(cells[:_FIRST]).all():
        number = _number_format(cells, decimal)
        if number is not None and not _is_text_on_purpose(cells, number):
            return number
    return ColumnFormat("text")


def nearest_format(column: pd.Series) -> tuple[ColumnFormat, Array] | None:
    """What nearly all cells of a text column are, and the places of the others; None of other columns."""
    cells = _text_cells(column)
    if column_format(column).kind != "text" or isinstance(column.dtype, _categorical_dtype()) or not len(cells):
        return None
    for reads in (_is_date, _is_number):
        if reads(cells[:_FIRST]).sum() < _FEW_OF_FIRST * len(cells[:_FIRST]):
            continue
        good = cells[reads(cells)]
        found = _date_format(good) if reads is _is_date else _number_format(good, ".")
        if found is not None:
            odd = np.flatnonzero(np.isnan(found.read(column)) & column.notna().to_numpy())
            if 0 < len(odd) <= (1 - NEARLY) * column.notna().sum():
                return found, odd
    return None


def _text_cells(column: pd.Series) -> Array:
    """The distinct text cells of a column, in order of appearance."""
    return np.array(
        list(dict.fromkeys(value for value in column.astype(object) if isinstance(value, str))), dtype=object
    )


def _is_number(cells: Array) -> Array:
    return np.array([any(parse_number(cell, sign) is not None for sign in ".,") for cell in cells], dtype=bool)


def _is_date(cells: Array) -> Array:
    return np.array([bool(possible_orders(cell)) for cell in cells], dtype=bool)


def _number_format(cells: Array, decimal: str) -> ColumnFormat | None:
    """The decimal sign that reads most cells; None where it does not read all, or where they mix units."""
    sign, is_tie = _decimal_sign(cells, decimal)
    read = [parse_number(cell, sign) for cell in cells]
    units = {unit_of(cell) for cell, value in zip(cells, read, strict=True) if value != 0}
    if None in read or len(units - {""}) > 1 or ("%" in units and len(units) > 1):
        return None
    is_guess = is_tie and not units - {"", "%"} and all("," in cell or "." in cell for cell in cells)
    return ColumnFormat("number", sign, _common_unit(cells), is_guess=is_guess)


def _decimal_sign(cells: Array, decimal: str) -> tuple[str, bool]:
    """The sign with which most cells are numbers, and whether the other one is as good."""
    counts = {sign: sum(parse_number(cell, sign) is not None for cell in cells) for sign in ".,"}
    is_tie = counts["."] == counts[","]
    return (decimal if is_tie else max(counts, key=counts.__getitem__)), is_tie


def _is_text_on_purpose(cells: Array, form: ColumnFormat) -> bool:
    """Whether all cells are plain numbers, which whoever made the column has kept as text."""
    return all(map(_is_plain, cells)) and (form.decimal == "." or not any("." in cell for cell in cells))


def _common_unit(cells: Array) -> str:
    return next((unit for unit in map(unit_of, cells) if unit), "")


def _date_format(cells: Array) -> ColumnFormat | None:
    order, is_guess = _order(cells)
    return None if order is None else ColumnFormat("date", order=order, is_guess=is_guess)


def _order(cells: Array) -> tuple[str | None, bool]:
    """The order of day and month that all cells allow, and whether none of them decides.

    Then the first of a month in every row says which part is the day; else points and hyphens stand after days, and
    slashes after months.
    """
    possible = {"dmy", "mdy"}
    for cell in cells:
        possible &= possible_orders(cell)
        if not possible:
            return None, False
    if len(possible) == 1:
        return possible.pop(), False
    read = {order: [parse_date(cell, order) for cell in cells] for order in ("dmy", "mdy")}
    if read["dmy"] == read["mdy"]:
        return "", False
    starts = [order for order, days in read.items() if all(_is_first_of_month(day) for day in days)]
    if len(starts) == 1 and len(cells) > 2:
        return starts[0], True
    return ("mdy" if any("/" in cell for cell in cells) else "dmy"), True


def _is_first_of_month(day: float | None) -> bool:
    return day is None or datetime.date.fromordinal(int(day) + datetime.date(1970, 1, 1).toordinal()).day == 1


def _is_plain(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _categorical_dtype() -> type:
    from pandas import CategoricalDtype

    return CategoricalDtype  # type: ignore[no-any-return]
