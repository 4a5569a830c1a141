"""Table preprocessing: every kind of column, gaps, unseen levels, and a round trip without pickle."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pandas as pd
import pytest

from vmtl.data.preprocessing import TablePreprocessor


def table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [20, 30, 40, 50],
            "income": [1.0, np.nan, 3.0, 5.0],
            "colour": ["red", "blue", None, "red"],
            "member": [True, False, True, True],
            "since": pd.to_datetime(["2020-01-01", "2020-01-03", None, "2020-01-05"]),
            "size": pd.Categorical(["S", "L", "S", "S"], categories=["S", "M", "L"]),
            "nothing": [None] * 4,
        }
    )


def test_every_kind_of_column_becomes_features() -> None:
    pre = TablePreprocessor()
    X = pre.fit_transform(table())
    assert X.dtype == np.float32
    assert pre.feature_names_out_ == [
        "age",
        "income",
        "member",
        "since",
        "nothing",
        "income missing",
        "since missing",
        "nothing missing",
        "colour=(missing)",
        "colour=blue",
        "colour=red",
        "size=L",
        "size=S",
    ]
    assert X.shape == (4, len(pre.feature_names_out_))
    assert np.isfinite(X).all()
    column = dict(zip(pre.feature_names_out_, X.T, strict=True))
    assert column["age"].mean() == pytest.approx(0, abs=1e-6)
    assert column["age"].std() == pytest.approx(1, abs=1e-6)
    np.testing.assert_array_equal(column["income missing"], [0, 1, 0, 0])
    assert column["income"][1] == 0  # the training mean
    np.testing.assert_array_equal(column["colour=red"], [1, 0, 0, 1])
    np.testing.assert_array_equal(column["colour=(missing)"], [0, 0, 1, 0])
    assert column["since"][1] - column["since"][0] == pytest.approx(column["since"][3] - column["since"][1])
    np.testing.assert_array_equal(column["nothing"], 0)


def test_unseen_levels_are_zeros_and_new_gaps_are_filled() -> None:
    pre = TablePreprocessor().fit(pd.DataFrame({"age": [1.0, 3.0], "colour": ["red", "blue"]}))
    new = pre.transform(pd.DataFrame({"age": [np.nan], "colour": ["green"]}))
    np.testing.assert_array_equal(new, [[0, 0, 0]])


def test_columns_are_found_by_name() -> None:
    pre = TablePreprocessor().fit(table())
    mixed = table()[["size", "age", "nothing", "since", "colour", "member", "income"]].assign(extra=1)
    np.testing.assert_array_equal(pre.transform(mixed), pre.transform(table()))


def test_absent_columns_are_named() -> None:
    pre = TablePreprocessor().fit(table())
    with pytest.raises(ValueError, match=r"lacks 'age', 'size', .* add them\."):
        pre.transform(table().drop(columns=["age", "size"]))
    with pytest.raises(ValueError, match=r"lacks 'age' \(did you mean 'Age'\?\), .* add it\."):
        pre.transform(table().rename(columns={"age": "Age"}))


def test_the_state_is_json_and_arrays_and_rebuilds_exactly() -> None:
    pre = TablePreprocessor().fit(table())
    document, arrays = pre.state()
    assert all(array.dtype in (np.float64, bool) for array in arrays.values())
    again = TablePreprocessor.from_state(json.loads(json.dumps(document)), arrays)
    odd = table().assign(colour=["green", None, "red", "blue"], age=[1, 2, 3, 4])
    np.testing.assert_array_equal(again.transform(odd), pre.transform(odd))
    assert again.feature_names_out_ == pre.feature_names_out_
    assert again.feature_names_in_ == pre.feature_names_in_
    assert again.state()[0] == document


@pytest.mark.parametrize("column", [[1.5, 2.5], ["a", "b"]])
def test_tables_of_one_kind_round_trip(column: list[object]) -> None:
    frame = pd.DataFrame({"c": column})
    pre = TablePreprocessor().fit(frame)
    again = TablePreprocessor.from_state(*pre.state())
    np.testing.assert_array_equal(again.transform(frame), pre.transform(frame))


def test_a_newer_state_is_refused() -> None:
    document, arrays = TablePreprocessor().fit(table()).state()
    with pytest.raises(ValueError, match="newer vmtl"):
        TablePreprocessor.from_state({**document, "version": 99}, arrays)


def test_gaps_are_refused_on_request() -> None:
    with pytest.raises(ValueError, match="'income', 'colour', 'since', 'nothing'"):
        TablePreprocessor(missing="error").fit(table())
    pre = TablePreprocessor(missing="error").fit(pd.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(ValueError, match="missing in 'a'"):
        pre.transform(pd.DataFrame({"a": [np.nan]}))


@pytest.mark.parametrize(
    "dates",
    [
        ["2024-01-01", "2024-01-02", None],
        ["2024-01-01T00:00", "2024-01-02T00:00:00", None],
        [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2), None],
        [
            pd.Timestamp("2024-01-01", tz="Europe/Berlin"),
            pd.Timestamp("2024-01-02", tz="Europe/Berlin"),
            None,
        ],
    ],
)
def test_dates_of_every_spelling_are_numbers(dates: list[object]) -> None:
    pre = TablePreprocessor().fit(pd.DataFrame({"when": dates}))
    assert pre.feature_names_out_ == ["when", "when missing"]
    late = pre.transform(pd.DataFrame({"when": [dates[1], dates[0]]}))
    assert late[0, 0] - late[1, 0] == pytest.approx(2)  # one day is two standard deviations here


@pytest.mark.parametrize(
    "numbers",
    [
        pd.array([1, None, 3], dtype="Int64"),
        pd.array([True, None, False], dtype="boolean"),
        np.array([True, None, False], dtype=object),
        np.array([1, 2.5, None], dtype=object),
    ],
)
def test_numbers_with_gaps_of_every_type(numbers: object) -> None:
    pre = TablePreprocessor()
    X = pre.fit_transform(pd.DataFrame({"v": numbers}))
    assert pre.feature_names_out_ == ["v", "v missing"]
    assert np.isfinite(X).all()


def test_a_level_does_not_depend_on_how_a_number_is_stored() -> None:
    pre = TablePreprocessor().fit(pd.DataFrame({"code": pd.Categorical([1, 2, 2])}))
    for values in ([1], [1.0], ["1"]):
        row = pre.transform(pd.DataFrame({"code": pd.Series(values, dtype=object)}))
        np.testing.assert_array_equal(row, [[1, 0]])


def test_rare_levels_count_as_unseen() -> None:
    names = ["a"] * 3 + ["b"] * 2 + ["c"]
    pre = TablePreprocessor(max_levels=2).fit(pd.DataFrame({"name": names}))
    assert pre.feature_names_out_ == ["name=a", "name=b"]
    np.testing.assert_array_equal(pre.transform(pd.DataFrame({"name": ["c"]})), [[0, 0]])


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"a": ["x"], "d": ["2024-01-01"]}, "Data row 1: 'x' in column 'a', which held numbers"),
        ({"a": ["1", None, "x"], "d": ["2024-01-01"] * 3}, "Data row 3: 'x' in column 'a', which held numbers"),
        ({"a": [1, 2], "d": ["2024-01-01", "soon"]}, "Data row 2: 'soon' in column 'd', which held dates"),
        ({"a": [np.inf], "d": ["2024-01-01"]}, "'a' holds an infinite value"),
    ],
)
def test_columns_that_change_their_kind_are_refused(frame: dict[str, list[object]], message: str) -> None:
    pre = TablePreprocessor().fit(pd.DataFrame({"a": [1, 2], "d": ["2024-01-01", "2024-01-02"]}))
    with pytest.raises(ValueError, match=message):
        pre.transform(pd.DataFrame(frame))


def test_only_columns_that_the_model_does_not_use_are_suggested() -> None:
    pre = TablePreprocessor().fit(pd.DataFrame({"marker_4": [1, 2], "marker_9": [1, 2]}))
    with pytest.raises(ValueError, match=r"lacks 'marker_4', which the model was fitted on; add it\."):
        pre.transform(pd.DataFrame({"marker_9": [1]}))
    with pytest.raises(ValueError, match=r"lacks 'marker_4' \(did you mean 'Marker_4'\?\)"):
        pre.transform(pd.DataFrame({"marker_9": [1], "Marker_4": [1]}))


def test_other_bad_input_is_explained() -> None:
    with pytest.raises(ValueError, match="not fitted"):
        TablePreprocessor().transform(table())
    with pytest.raises(ValueError, match='"impute" or "error"'):
        TablePreprocessor(missing="drop").fit(table())
    with pytest.raises(ValueError, match="at least one row"):
        TablePreprocessor().fit(table().iloc[:0])
    with pytest.raises(ValueError, match="'a' occur twice"):
        TablePreprocessor().fit(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(ValueError, match="time spans"):
        TablePreprocessor().fit(pd.DataFrame({"t": pd.to_timedelta([1, 2], unit="D")}))
