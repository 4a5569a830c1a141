"""The body of a prediction request: what is read, what is refused and how, and what may be predicted together."""

from __future__ import annotations

import json
from typing import Any

import pytest

from helpers.numeric_models import NUMBERS
from helpers.small_fits import small
from helpers.tables import make_table
from vmtl.serving.requests import BATCH_ROWS, Options, PredictionRequest, RequestReader, join

COLUMNS = [*NUMBERS, "ward"]
GOOD = {"age": 0.1, "dose": 0.2, "bmi": None, "ward": "A"}
CELLS = [0.1, 0.2, None, "A"]


@pytest.fixture(scope="module")
def reader() -> RequestReader:
    table = make_table(90, 0)
    model = small(method="bmtl", encoder="linear", missing="impute")
    model.fit(table[COLUMNS], table["outcome"], tasks=table["site"])
    model.metadata_ = {"task": "site"}
    return RequestReader(model, 300)


def ask(reader: RequestReader, **document: Any) -> PredictionRequest:
    return reader.read(json.dumps(document).encode())


def test_objects_columns_and_lists_are_the_same_request(reader: RequestReader) -> None:
    expected = PredictionRequest([CELLS, CELLS], ["north", "west"], Options(), alone=False)
    columns = {name: [value, value] for name, value in GOOD.items()}
    with_task = [{**GOOD, "site": task, "more": 1} for task in ("north", "west")]
    assert ask(reader, rows=[GOOD, GOOD], tasks=["north", "west"]) == expected
    assert ask(reader, rows=[CELLS, CELLS], tasks=["north", "west"]) == expected
    assert ask(reader, rows=columns, tasks=["north", "west"]) == expected
    assert ask(reader, rows={**columns, "site": ["north", "west"]}) == expected
    assert ask(reader, rows=with_task) == expected
    assert ask(reader, rows=[GOOD, GOOD], tasks="north").tasks == ["north", "north"]


def test_the_options_of_an_answer(reader: RequestReader) -> None:
    asked = ask(reader, rows=[GOOD], tasks="north", coverage=0.8, uncertainty=True)
    assert asked.options == Options(coverage=0.8, uncertainty=True)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b'{"rows": [', "The request is not valid JSON: Expecting value at line 1, column 11; send, for example, {"),
        (
            b'{"rows": [\n {"age": 1,}]}',
            "The request is not valid JSON: Expecting property name enclosed in double quotes at line 2, column 12;",
        ),
        (b"", "The request is not valid JSON: Expecting value at line 1, column 1;"),
        (b'{"rows": "\xff"}', "The request is not UTF-8 text (byte 11); send JSON in UTF-8."),
        (b"[" * 100_000, "The request holds lists nested too deeply;"),
        (b'{"rows": ' + b"1" * 5000 + b"}", "The request holds a number with too many digits;"),
        (b"[1]", "The request is [1], not an object;"),
        (b"{}", 'The request has no "rows";'),
    ],
)
def test_what_is_no_request_is_one_sentence(reader: RequestReader, body: bytes, sentence: str) -> None:
    with pytest.raises(ValueError) as refused:
        reader.read(body)
    assert str(refused.value).startswith(sentence)
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ({"task": "north"}, "The request has the unknown key 'task' (did you mean 'tasks'?); it takes rows, tasks, "),
        ({"depth": 1, "x": 2}, "The request has the unknown keys 'depth', 'x'; it takes rows, tasks, coverage, unc"),
        ({"coverage": 2}, '"coverage" is 2; give a number between 0 and 1, such as 0.9.'),
        ({"coverage": True}, '"coverage" is True; give a number between 0 and 1'),
        ({"uncertainty": 1}, '"uncertainty" is 1; give true or false.'),
        ({"rows": 3}, '"rows" is 3; give a list of rows, or an object of columns.'),
        ({"rows": {"age": 3}}, "Column 'age' is 3; give a list, one value per row."),
        ({"rows": [{**GOOD, "age": [1]}]}, "Row 1 holds [1] in column 'age'; give one value."),
        ({"rows": [GOOD, {**GOOD, "age": 10**400}]}, "Row 2 holds a number beyond 1e+300 in column 'age'; repair it."),
    ],
)
def test_what_nobody_reads_is_refused(reader: RequestReader, document: Any, sentence: str) -> None:
    with pytest.raises(ValueError) as refused:
        ask(reader, **{"rows": [GOOD], "tasks": "north", **document})
    assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize(
    ("rows", "tasks"),
    [
        ([{**GOOD, "age": "old"}], "north"),
        ([{**GOOD, "age": 1e16}], "north"),
        ([{**GOOD, "age": float("nan")}], "north"),
        ([{**GOOD, "age": True}], "north"),
        ([{**GOOD, "ward": float("nan")}], "north"),
        ([GOOD], "elsewhere"),
        ([GOOD] * (BATCH_ROWS + 1), "north"),
    ],
)
def test_what_a_model_might_refuse_or_see_as_a_whole_is_predicted_alone(
    reader: RequestReader, rows: Any, tasks: str
) -> None:
    assert ask(reader, rows=rows, tasks=tasks).alone


def test_a_text_may_be_a_number(reader: RequestReader) -> None:
    asked = ask(reader, rows=[{**GOOD, "ward": 3}], tasks="north")
    assert (asked.rows, asked.alone) == ([[0.1, 0.2, None, 3]], False)


def test_requests_are_joined_in_their_order(reader: RequestReader) -> None:
    other = [0.3, 0.4, 0.5, "B"]
    rows, tasks = join([ask(reader, rows=[CELLS, CELLS], tasks="west"), ask(reader, rows=[other], tasks="north")])
    assert rows == [CELLS, CELLS, other]
    assert tasks.tolist() == ["west", "west", "north"]
