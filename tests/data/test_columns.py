"""One column of a table: its kind, and its values as numbers or levels."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest

from vmtl.data.columns import (
    GAP,
    as_levels,
    as_numbers,
    column_kind,
    first_odd,
    looks_like_identifier,
    numbers_the_rows,
    odd_cells,
    slips,
)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], "number"),
        ([1.5, None], "number"),
        ([True, False], "number"),
        ([None, None], "number"),
        (["a", "b"], "text"),
        (["1", "x"], "text"),
        (pd.Categorical([1, 2]), "text"),
        (["2024-02-29", None], "date"),
        (["2024-02-29T12:00", "2024-03-01 00:00:00"], "date"),
        ([datetime.date(2024, 2, 29)], "date"),
        (pd.to_datetime(["2024-02-29"]), "date"),
    ],
)
def test_kinds(values: object, kind: str) -> None:
    assert column_kind(pd.Series(values)) == kind


def test_time_spans_are_refused() -> None:
    with pytest.raises(ValueError, match="'span' holds time spans"):
        column_kind(pd.Series(pd.to_timedelta(["1 day"]), name="span"))


def test_dates_are_days_and_gaps_are_nan() -> None:
    days = as_numbers(pd.Series(["1970-01-02", None, "1970-01-01T12:00"]), "date")
    np.testing.assert_allclose(days, [1.0, np.nan, 0.5])


@pytest.mark.skipif(pd.__version__ < "3", reason="pandas 2 has dates in nanoseconds only and refuses others")
@pytest.mark.parametrize(
    "values", [["9999-12-31", "0001-01-01"], [datetime.date(9999, 12, 31), datetime.date(1, 1, 1)]]
)
def test_dates_that_nanoseconds_cannot_hold_are_days_too(values: list[object]) -> None:
    """Tables write 9999-12-31 for "never"."""
    np.testing.assert_array_equal(as_numbers(pd.Series(values), "date"), [2932896.0, -719162.0])


@pytest.mark.parametrize("values", [[10**400, 1], ["9" * 400, "1"]])
def test_a_whole_number_of_400_digits_is_infinite(values: list[object]) -> None:
    column = pd.Series(values, name="age", dtype=object)
    with pytest.raises(ValueError, match=r"column 'age'|Column 'age' holds an infinite value"):
        as_numbers(column, "number")
    assert len(odd_cells(pd.concat([column, pd.Series(["old"])]))) == 1


@pytest.mark.parametrize("cell", [np.array([1, 2]), [1], {"a": 1}])
def test_lists_in_cells_are_refused(cell: object) -> None:
    with pytest.raises(
        ValueError, match=r"^Column 'ward' holds a \w+ in a cell; make a column of each of its values\.$"
    ):
        as_levels(pd.Series([cell, None], name="ward", dtype=object))


def test_a_number_that_turned_into_text_is_named_with_its_row() -> None:
    column = pd.Series([1, "n/a", 3], name="age")
    assert first_odd(column) == "'n/a' in data row 2"
    remedy = "'n/a' in column 'age', which held numbers in training; write a number or leave the cell empty."
    with pytest.raises(ValueError, match=f"^Data row 2: {remedy}$"):
        as_numbers(column, "number")
    with pytest.raises(ValueError, match=f"^new.csv, data row 2: {remedy}$"):
        as_numbers(column, "number", "new.csv")
    with pytest.raises(ValueError, match="write a date or leave the cell empty"):
        as_numbers(pd.Series(["2024-01-01", "soon"]), "date")
    with pytest.raises(ValueError, match="'age' holds an infinite value"):
        as_numbers(pd.Series([1.0, np.inf], name="age"), "number")


def test_one_value_is_one_level_however_it_is_written() -> None:
    assert as_levels(pd.Series([1, 1.0, "1", None, float("nan"), pd.NA, 1.5], dtype=object)).tolist() == [
        "1", "1", "1", GAP, GAP, GAP, "1.5",
    ]  # fmt: skip


def test_slips_are_the_few_cells_that_are_no_numbers() -> None:
    mostly = pd.Series([*map(str, range(19)), "?"])
    assert slips(mostly).tolist() == [19]
    assert slips(pd.Series(["a", "b", "3"])).size == 0
    assert slips(pd.Series([1.0, 2.0])).size == 0


def test_identifiers_and_row_numbers_are_recognised() -> None:
    names = pd.Series([f"p{i}" for i in range(30)])
    assert looks_like_identifier(names)
    assert not looks_like_identifier(names.str.slice(0, 1))
    order = np.random.default_rng(0).permutation(30)
    assert numbers_the_rows(pd.Series(order))
    assert not numbers_the_rows(pd.Series(order * 7))
    assert not numbers_the_rows(pd.Series(order / 2))
