"""The values of a column as numbers or levels, and columns that number the rows."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest

from vmtl.data.column_format import ColumnFormat
from vmtl.data.columns import GAP, as_levels, as_numbers, first_odd, looks_like_identifier, numbers_the_rows

NUMBER, DATE = ColumnFormat("number"), ColumnFormat("date")


def test_dates_are_days_and_gaps_are_nan() -> None:
    days = as_numbers(pd.Series(["1970-01-02", None, "1970-01-01T12:00"]), DATE)
    np.testing.assert_allclose(days, [1.0, np.nan, 0.5])


@pytest.mark.parametrize(
    "values", [["9999-12-31", "0001-01-01"], [datetime.date(9999, 12, 31), datetime.date(1, 1, 1)]]
)
def test_dates_that_nanoseconds_cannot_hold_are_days_too(values: list[object]) -> None:
    """Tables write 9999-12-31 for "never"."""
    np.testing.assert_array_equal(as_numbers(pd.Series(values), DATE), [2932896.0, -719162.0])


@pytest.mark.parametrize("values", [[10**400, 1], ["9" * 400, "1"]])
def test_a_whole_number_of_400_digits_is_infinite(values: list[object]) -> None:
    with pytest.raises(ValueError, match="'age' holds an infinite value"):
        as_numbers(pd.Series(values, name="age", dtype=object), NUMBER)


@pytest.mark.parametrize("cell", [np.array([1, 2]), [1], {"a": 1}])
def test_lists_in_cells_are_refused(cell: object) -> None:
    column = pd.Series([cell, None] * 20, name="ward", dtype=object)
    for read in (as_levels, looks_like_identifier):
        with pytest.raises(
            ValueError, match=r"^Column 'ward' holds a \w+ in a cell; make a column of each of its values\.$"
        ):
            read(column)


def test_a_number_that_turned_into_text_is_named_with_its_row() -> None:
    column = pd.Series([1, "n/a", 3], name="age")
    assert first_odd(column, NUMBER) == "'n/a' in data row 2"
    remedy = "'n/a' in column 'age', which held numbers in training; write a number or leave the cell empty."
    with pytest.raises(ValueError, match=f"^Data row 2: {remedy}$"):
        as_numbers(column, NUMBER)
    with pytest.raises(ValueError, match=f"^new.csv, data row 2: {remedy}$"):
        as_numbers(column, NUMBER, "new.csv")
    with pytest.raises(ValueError, match="write a date or leave the cell empty"):
        as_numbers(pd.Series(["2024-01-01", "soon"]), DATE)
    with pytest.raises(ValueError, match="'age' holds an infinite value"):
        as_numbers(pd.Series([1.0, np.inf], name="age"), NUMBER)


def test_odd_cells_are_gaps_where_that_was_asked_for() -> None:
    column = pd.Series(["1.5", "<0.5"])
    np.testing.assert_allclose(as_numbers(column, ColumnFormat("number", ".", has_gaps_for_odd=True)), [1.5, np.nan])


def test_one_value_is_one_level_however_it_is_written() -> None:
    assert as_levels(pd.Series([1, 1.0, "1", None, float("nan"), pd.NA, 1.5], dtype=object)).tolist() == [
        "1", "1", "1", GAP, GAP, GAP, "1.5",
    ]  # fmt: skip


def test_an_identifier_has_a_different_text_in_every_row() -> None:
    names = pd.Series([f"p{i}" for i in range(30)])
    assert looks_like_identifier(names)
    assert not looks_like_identifier(pd.concat([names, names.head(1)]))
    assert not looks_like_identifier(names.str.slice(0, 1))
    assert not looks_like_identifier(pd.Series([f"{i}.12.2023" for i in range(10, 31)]))


def test_numbers_of_rows_are_all_different() -> None:
    order = np.random.default_rng(0).permutation(30).astype(float)
    assert numbers_the_rows("number", order, tells=False)
    assert numbers_the_rows("x", order, tells=False)
    assert not numbers_the_rows("x", np.append(order, 3.0), tells=False)
    assert not numbers_the_rows("x", order * 7, tells=False)  # so far apart that chance would not repeat them
    assert not numbers_the_rows("x", order / 2, tells=False)


def test_a_quantity_is_no_number_of_a_row() -> None:
    years = np.arange(1990.0, 2020)
    assert not numbers_the_rows("year", years, tells=False)
    assert not numbers_the_rows("x", years, tells=True)
    assert numbers_the_rows("patient_id", years, tells=True)
    assert not numbers_the_rows("year", np.tile(years, 8), tells=False)
