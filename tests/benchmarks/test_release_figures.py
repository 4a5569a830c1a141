"""Figures come from the tables of the pages, and two releases are compared beyond chance and rounding."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.release_figures import (
    HISTORY,
    Figure,
    compare,
    main,
    read_numbers,
    read_pages,
    read_record,
    write_record,
)

RECORDS = sorted(HISTORY.glob("*.json"))


def figure(value: float, **options: object) -> Figure:
    return replace(Figure("page", "set: VMTL", "accuracy", value, higher_is_better=True), **options)


@pytest.mark.parametrize(
    ("cell", "numbers"),
    [
        ("95.7 ± 0.1", [95.7, 0.1]),
        ("3.1, 3.2", [3.1, 3.2]),
        ("2.5 to 2.7", [2.5, 2.7]),
        ("1,234 MB", [1234.0]),
        ("-0.0953", [-0.0953]),
        ("1.6e-40", [1.6e-40]),
        ("–", []),
    ],
)
def test_numbers_of_a_cell(cell: str, numbers: list[float]) -> None:
    assert read_numbers(cell) == numbers


def test_every_page_gives_figures_with_names_of_their_own() -> None:
    figures = read_pages()
    assert {f.page for f in figures} == {
        "RESULTS.md",
        "docs/linear-models.md",
        "docs/defaults.md",
        "docs/performance.md",
    }
    assert len({f.key for f in figures}) == len(figures)


@pytest.mark.parametrize("file", RECORDS, ids=lambda file: file.stem)
def test_records_are_whole(file: Path) -> None:
    content = json.loads(file.read_text(encoding="utf-8"))
    assert content["release"] == file.stem
    assert content["versions"]["vmtl"] == file.stem
    assert len(read_record(file.stem)) > 100


def test_figures_of_the_first_release() -> None:
    """Numbers copied by eye from its pages."""
    known = {f.key: f for f in read_record("0.1.0")}
    caltech = known["office-caltech, 5 %, the paper's split: VMTL [default]", "accuracy"]
    assert (caltech.value, caltech.spread, caltech.higher_is_better) == (95.7, 0.0, True)
    school = known["school, 5 %, random splits: VMTL [default]", "rmse"]
    assert (school.value, school.spread, school.higher_is_better) == (10.32, 0.1759, False)
    surf = known["office-caltech-surf, 10 %: VMTL default", "nll"]
    assert surf.value == 1.15
    error = known["ECE, mean over sets", "goal"]
    assert (error.value, error.reached, error.higher_is_better) == (0.0517, False, False)
    memory = known["peak memory of a fit at Office-Home size, above the data", "two threads"]
    assert (memory.value, memory.spread, memory.reached) == (339.0, 5.0, True)


def test_a_change_within_the_intervals_is_none() -> None:
    old = figure(80.0, spread=3.0)
    assert not compare([old], [figure(75.0, spread=3.0)], percent=1)
    (worse,) = compare([old], [figure(73.0, spread=3.0)], percent=1)
    assert worse.gain == -7.0
    (better,) = compare([replace(old, higher_is_better=False)], [figure(73.0, higher_is_better=False)], percent=1)
    assert better.gain == 7.0


def test_a_lost_goal_shows_however_small_the_change() -> None:
    (lost,) = compare([figure(2.3, reached=True)], [figure(2.299, reached=False)])
    assert lost.lost_goal
    assert "goal lost" in str(lost)


def test_a_record_comes_back_and_is_not_overwritten(tmp_path: Path) -> None:
    figures = [figure(1.5), figure(2.5, name="other", reached=True)]
    write_record("9.9", figures, {"vmtl": "9.9"}, tmp_path)
    assert read_record("9.9", tmp_path) == figures
    with pytest.raises(FileExistsError, match="do not change"):
        write_record("9.9", figures, {}, tmp_path)


def test_a_release_beside_itself_has_not_changed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "0.1.0", "0.1.0"]) == 0
    assert "0 of them changed" in capsys.readouterr().out
