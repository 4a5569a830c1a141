"""Columns are recognised by their cells, and what they were taken for can be overruled."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers.small_fits import small
from vmtl import MultiTaskClassifier, load
from vmtl.data.column_format import ColumnFormat
from vmtl.data.column_types import column_format, column_formats, nearest_format, plain_kind, set_column_types


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
    assert plain_kind(pd.Series(values)) == column_format(pd.Series(values)).kind == kind


def test_time_spans_are_refused() -> None:
    with pytest.raises(ValueError, match="'span' holds time spans"):
        column_format(pd.Series(pd.to_timedelta(["1 day"]), name="span"))


@pytest.mark.parametrize(
    ("cells", "said", "values"),
    [
        (["18.12.2023", "01.02.2024"], "date (day first)", [19709, 19754]),
        (["14/06/2023", "02/03/2023"], "date (day first)", [19522, 19418]),
        (["06/14/2023", "02/03/2023"], "date (month first)", [19522, 19391]),
        (["10-Dec-2023", "Dec 3, 2022"], "date", [19701, 19329]),
        (["2023/12/18", None], "date", [19709, np.nan]),
        (["45%", "0"], "number (percent)", [0.45, 0]),
        (["$1,234.50", "$3"], "number ($)", [1234.5, 3]),
        (["12,345", "900"], "number", [12345, 900]),
        (["12,345", "9,5"], "number (decimal comma)", [12.345, 9.5]),
        (["1.234,50 €", "3,00 €"], "number (€, decimal comma)", [1234.5, 3]),
    ],
)
def test_cells_are_read_as_people_write_them(cells: list[str], said: str, values: list[float]) -> None:
    form = column_format(pd.Series(cells))
    assert str(form) == said
    assert not form.is_guess
    np.testing.assert_allclose(form.read(pd.Series(cells)), values)


@pytest.mark.parametrize(
    "cells",
    [
        ["01", "02"],  # kept as text by whoever made the column
        ["45%", "0.3"],  # is 0.3 a third of a per cent?
        ["$1", "€2"],
        ["13/12/2023", "12/13/2023"],  # no order fits both
        ["1.2.10", "1.2.11"],
        [1.5, "2,000"],
    ],
)
def test_what_could_mislead_stays_text(cells: list[object]) -> None:
    assert column_format(pd.Series(cells, dtype=object)).kind == "text"


@pytest.mark.parametrize(
    ("cells", "order"),
    [
        (["03/04/2023", "05/06/2023"], "mdy"),
        (["03.04.2023", "05.06.2023"], "dmy"),
        (["01/02/2023", "01/03/2023", "01/04/2023"], "dmy"),  # the first of every month
    ],
)
def test_dates_that_do_not_decide_are_guessed(cells: list[str], order: str) -> None:
    form = column_format(pd.Series(cells))
    assert (form.order, form.is_guess) == (order, True)


def test_the_sign_of_the_file_decides_where_cells_do_not() -> None:
    cells = pd.Series(["12.345", "1.234"])
    assert column_format(cells).kind == "text"
    np.testing.assert_allclose(column_format(cells, decimal=",").read(cells), [12345, 1234])
    assert column_format(pd.Series(["12,345", "1,234"])).is_guess


def test_few_slips_are_found() -> None:
    numbers = pd.Series([*map(str, range(19)), "?"])
    found = nearest_format(numbers)
    assert found is not None
    assert found[0].kind == "number"
    assert found[1].tolist() == [19]
    dates = nearest_format(pd.Series(["14/06/2023"] * 19 + ["soon"]))
    assert dates is not None
    assert str(dates[0]) == "date (day first)"
    assert nearest_format(pd.Series(["a", "b", "3"])) is None
    assert nearest_format(pd.Series([1.0, 2.0])) is None


def test_types_can_be_set() -> None:
    table = pd.DataFrame({"zip": [1234, 5678], "day": ["03/04/2023", "05/06/2023"], "dose": ["1.5", "<0.5"], "x": 1.0})
    typed = set_column_types(table, {"zip": "text", "day": "day-first", "dose": "number"})
    forms = column_formats(typed)
    assert [form.kind for form in forms.values()] == ["text", "date", "number", "number"]
    assert forms["day"].read(table["day"])[0] == (datetime.date(2023, 4, 3) - datetime.date(1970, 1, 1)).days
    np.testing.assert_allclose(forms["dose"].read(table["dose"]), [1.5, np.nan])
    assert table.attrs == {}
    assert column_formats(typed.iloc[:1].drop(columns="x"))["zip"].kind == "text"
    again = set_column_types(typed, {"x": "text"})
    assert {form.kind for form in column_formats(again).values()} == {"text", "date", "number"}


def test_whole_numbers_can_be_dates() -> None:
    typed = set_column_types(pd.DataFrame({"day": [20231218, 20240101]}), {"day": "date"})
    assert column_formats(typed)["day"].read(typed["day"]).tolist() == [19709.0, 19723.0]


def test_wrong_types_are_explained() -> None:
    table = pd.DataFrame({"dose": ["a", "b"]})
    with pytest.raises(ValueError, match=r"no column 'dos' \(did you mean 'dose'\?\)"):
        set_column_types(table, {"dos": "text"})
    with pytest.raises(ValueError, match="choose one of number, decimal-point"):
        set_column_types(table, {"dose": "float"})
    with pytest.raises(ValueError, match="'dose' cannot be read as number: no cell is a number; one is 'a'"):
        set_column_types(table, {"dose": "number"})


@pytest.mark.usefixtures("quick_inference")
def test_an_estimator_keeps_what_it_took_columns_for(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    day = pd.Series(pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 300, 80), "D"))
    y, tasks = (day > "2023-06-01").to_numpy(), np.arange(80) % 2
    written = pd.DataFrame(
        {"day": day.dt.strftime("%d/%m/%Y"), "cost": [f"${v:,.2f}" for v in rng.uniform(1, 5e3, 80)]}
    )
    model = small(missing="impute").fit(written, y, tasks=tasks)
    assert model.preprocessor_ is not None
    assert list(map(str, model.preprocessor_.formats_.values())) == ["date (day first)", "number ($)"]
    model.save(tmp_path / "m.vmtl")
    again = load(tmp_path / "m.vmtl")
    ambiguous = written[written["day"].str.slice(0, 2) < "13"]  # these alone would be read with the month first
    iso = ambiguous.assign(day=pd.to_datetime(ambiguous["day"], dayfirst=True, format="%d/%m/%Y"))
    at = tasks[ambiguous.index]
    np.testing.assert_array_equal(again.predict_proba(ambiguous, tasks=at), model.predict_proba(iso, tasks=at))
    with pytest.raises(ValueError, match="'45%' in column 'cost', which held numbers in training"):
        again.predict(written.head(1).assign(cost="45%"), tasks=[0])


def test_a_damaged_format_is_refused() -> None:
    assert ColumnFormat.from_json("number", ColumnFormat("number", ",", "€").to_json()) == ColumnFormat(
        "number", ",", "€"
    )
    for kind, document in (("word", {}), ("number", {"decimal": 3}), ("date", {"order": "x"}), ("number", {"unit": 1})):
        with pytest.raises(ValueError, match="fit the model again"):
            ColumnFormat.from_json(kind, document)
