"""What a command says."""

from __future__ import annotations

import json
import math

import pytest

from vmtl.cli._support.console import note, printable, show_json, show_table, shown


def test_control_characters_never_reach_the_terminal() -> None:
    assert printable("a\x1b[31mb\n") == "a\N{REPLACEMENT CHARACTER}[31mb\N{REPLACEMENT CHARACTER}"


def test_remarks_go_to_standard_error_unless_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    note("seen")
    note("not seen", quiet=True)
    assert capsys.readouterr() == ("", "seen\n")


def test_json_is_one_strict_document_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    show_json({"ä": math.nan, "n": [1, 2.5]})
    written = capsys.readouterr()
    assert json.loads(written.out) == {"ä": None, "n": [1, 2.5]}
    assert written.err == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.12345, "0.123"), (math.nan, "–"), (None, "–"), (3, "3"), ("a\tb", "a\N{REPLACEMENT CHARACTER}b")],
)
def test_cells(value: object, text: str) -> None:
    assert shown(value) == text


def test_numbers_stand_to_the_right_and_text_to_the_left(capsys: pytest.CaptureFixture[str]) -> None:
    show_table("title", ("task", "score", "word"), [("north", 0.5, "x"), ("s", 10.25, "longer")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].strip() == "title"
    north, south = (next(line for line in lines if f" {name} " in line) for name in ("north", "s"))
    assert north.index("0.500") + 5 == south.index("10.250") + 6
    assert north.index(" x ") == south.index(" longer ")


@pytest.mark.parametrize("columns", [1, 2, 5, 12, 40])
def test_a_table_fits_a_terminal_and_loses_no_cell(columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("task", *(f"score-{number}" for number in range(columns)))
    show_table("title", names, [("north", *range(100, 100 + columns)), ("south", *(0.5,) * columns)])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    heads = [line for line in lines if "task" in line]
    assert len(heads) == sum("north" in line for line in lines) <= 1 + columns // 4
    cells = " ".join(lines).replace("│", " ").replace("┃", " ").split()
    assert {*names, *map(str, range(100, 100 + columns))} <= set(cells)


def test_without_a_split_long_cells_are_broken_into_lines(capsys: pytest.CaptureFixture[str]) -> None:
    show_table("title", ("name", "value", "meaning"), [("a", "word " * 20, "other " * 20)], split=False)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum("name" in line for line in lines) == 1
    assert [" ".join(lines).count(word) for word in ("word", "other")] == [20, 20]


def test_a_wide_cell_is_folded(capsys: pytest.CaptureFixture[str]) -> None:
    show_table("title", ("", "value"), [("columns", ", ".join(map(str, range(60))))])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
