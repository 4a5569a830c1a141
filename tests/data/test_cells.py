"""One cell as a number or a date."""

from __future__ import annotations

import datetime

import pytest

from vmtl.data.cells import parse_date, parse_number, possible_orders, unit_of


@pytest.mark.parametrize(
    ("cell", "decimal", "value"),
    [
        ("45%", ".", 0.45),
        ("12,5 %", ",", 0.125),
        ("$1,234.50", ".", 1234.5),
        ("-$3", ".", -3.0),
        ("$-3", ".", -3.0),
        ("($1,234.50)", ".", -1234.5),
        ("12,345", ".", 12345.0),
        ("12,345", ",", 12.345),
        ("1.234,50 €", ",", 1234.5),
        ("CHF 1'234.50", ".", 1234.5),
        ("1\u202f234\u202f567", ".", 1234567.0),
        (" 7 ", ".", 7.0),
        (".5", ".", 0.5),
        ("1e-3", ".", 0.001),
        ("\N{MINUS SIGN}2.5", ".", -2.5),
        ("0,345", ".", None),  # no group of three begins with 0
        ("1,23", ".", None),
        ("1,2345", ".", None),
        ("1,234'567", ".", None),  # two separators
        ("<0.5", ".", None),
        ("12-34", ".", None),
        ("--5", ".", None),
        ("(5", ".", None),
        ("$5 €", ".", None),
        ("", ".", None),
        ("nan", ".", None),
        ("inf", ".", None),
        ("5 kg", ".", None),
    ],
)
def test_numbers(cell: str, decimal: str, value: float | None) -> None:
    assert parse_number(cell, decimal) == (None if value is None else pytest.approx(value))


def test_units_are_told_apart() -> None:
    assert [unit_of(cell) for cell in ("45%", "$3", "3 EUR", "3", "x")] == ["%", "$", "EUR", "", ""]
    assert parse_number("3 EUR", unit="$") is None
    assert parse_number("3", unit="$") == 3


@pytest.mark.parametrize(
    ("cell", "order", "moment"),
    [
        ("18.12.2023", "dmy", "2023-12-18"),
        ("14/06/2023", "dmy", "2023-06-14"),
        ("06/14/2023", "mdy", "2023-06-14"),
        ("03/04/2023", "dmy", "2023-04-03"),
        ("03/04/2023", "mdy", "2023-03-04"),
        ("1/2/24", "mdy", "2024-01-02"),
        ("01.02.69", "dmy", "1969-02-01"),
        ("2023/12/18", "mdy", "2023-12-18"),
        ("20231218", "dmy", "2023-12-18"),
        ("18 Dec 2023", "mdy", "2023-12-18"),
        ("December 18, 2023", "dmy", "2023-12-18"),
        ("18-Sept-2023", "dmy", "2023-09-18"),
        ("18.12.2023 06:30", "dmy", "2023-12-18T06:30"),
        ("12/18/2023 6:30 PM", "mdy", "2023-12-18T18:30"),
        ("12/18/2023, 12:05:30 am", "mdy", "2023-12-18T00:05:30"),
        ("2023/12/18 01:00+02:00", "mdy", "2023-12-17T23:00"),
    ],
)
def test_dates(cell: str, order: str, moment: str) -> None:
    since = datetime.datetime.fromisoformat(moment) - datetime.datetime(1970, 1, 1)
    assert parse_date(cell, order) == pytest.approx(since.total_seconds() / 86_400)


@pytest.mark.parametrize("cell", ["31.02.2023", "13/13/2023", "1.2.10", "123/4/2023", "18 Foo 2023", "12:30", "x", ""])
def test_what_is_no_date(cell: str) -> None:
    assert possible_orders(cell) == set()


def test_a_cell_may_leave_the_order_open() -> None:
    assert possible_orders("03/04/2023") == {"dmy", "mdy"}
    assert possible_orders("14/06/2023") == {"dmy"}
    assert possible_orders("20231218") == set()  # a number, unless a column is said to hold dates
    assert parse_date("03/04/2023", "ymd") is None
