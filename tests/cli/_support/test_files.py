"""Outputs: no cell is a formula, no name is a path."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

import pandas as pd
import pytest

from helpers.tables import FEW, Run, make_table
from vmtl.cli._support.files import FORMULA_STARTS, csv_text, neutral


@pytest.mark.parametrize("start", FORMULA_STARTS)
def test_text_that_starts_like_a_formula_is_neutral(start: str) -> None:
    assert neutral(f"{start}cmd|' /C calc'!A0") == f"'{start}cmd|' /C calc'!A0"


@pytest.mark.parametrize("value", ["-1.5", "+2", "-1e-3", -3.5, 7, "plain", "a=b", "", None])
def test_numbers_and_plain_text_stay(value: object) -> None:
    assert neutral(value) == value


def test_a_model_that_is_not_there_is_refused_before_anything_is_loaded(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading is what imports torch."""
    monkeypatch.setitem(sys.modules, "vmtl.cli._support.loading", None)
    for command in (["info", tmp_path / "m.vmtl"], ["predict", tmp_path / "m.vmtl", tmp_path / "new.csv"]):
        done = run(*command)
        assert done.exit_code == 2
        assert "There is no model file" in done.stderr


def test_columns_and_cells_are_neutral_and_numbers_stay_numbers() -> None:
    table = pd.DataFrame({"=evil()": ["@SUM(A1)", "fine"], "change": [-1.5, 2.0], "kind": pd.Categorical(["-x", "y"])})
    rows = list(csv.reader(csv_text(table).splitlines()))
    assert rows == [["'=evil()", "change", "kind"], ["'@SUM(A1)", "-1.5", "'-x"], ["fine", "2.0", "y"]]


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_a_line_break_in_a_cell_begins_no_row(end: str) -> None:
    table = pd.DataFrame({f"a{end}=evil()": [f"x{end}=evil()", "y"], "b": [1.0, 2.0]})
    rows = list(csv.reader(io.StringIO(csv_text(table), newline="")))
    assert rows == [["a\n=evil()", "b"], ["x\n=evil()", "1.0"], ["y", "2.0"]]
    universal = csv_text(table).splitlines()  # what programs see that end a row at any line break
    assert len(universal) == len(csv_text(table).split("\n")) - 1


#: Names that a spreadsheet, a shell, a browser or a file system could take for more than a name.
TASKS = {"north": "=HYPERLINK(1)", "south": "../../up/and/away", "west": "<script>alert(1)</script>"}
STARTS = ("=", "+", "-", "@", "\t", "\r")


def write_wild(file: Path, seed: int, tasks: dict[str, str], classes: dict[str, str]) -> None:
    table = make_table(70, seed).drop(columns="days")
    table["site"], table["outcome"] = table["site"].map(tasks), table["outcome"].map(classes)
    table.to_csv(file, index=False, quoting=csv.QUOTE_NONNUMERIC)


def read_cells(file: Path) -> list[list[str]]:
    with file.open(newline="") as stream:
        return list(csv.reader(stream))


@pytest.mark.parametrize("starts", [STARTS[:3], STARTS[3:]], ids=repr)
def test_no_predicted_name_is_a_formula(starts: tuple[str, ...], run: Run, tmp_path: Path) -> None:
    """Task names, predictions and the columns named after classes, for every way a formula can begin."""
    tasks = {site: f"{start}cmd|'/c calc'!A0" for site, start in zip(TASKS, starts, strict=True)}
    classes = {name: f"{start}SUM(1)" for name, start in zip(("mild", "none", "severe"), starts, strict=True)}
    for name, seed in (("train.csv", 0), ("test.csv", 1)):
        write_wild(tmp_path / name, seed, tasks, classes)
    fit = ("fit", tmp_path / "train.csv", "--task", "site", "--target", "outcome", "--out", tmp_path / "m.vmtl", *FEW)
    assert run(*fit).exit_code == 0
    for out in ("p.csv", "p.tsv"):
        assert run("predict", tmp_path / "m.vmtl", tmp_path / "test.csv", "--out", tmp_path / out).exit_code == 0
    header, *rows = read_cells(tmp_path / "p.csv")
    assert {row[header.index("site")] for row in rows} == {f"'{name}".replace("\r", "\n") for name in tasks.values()}
    predicted = {row[header.index("prediction")] for row in rows}
    assert predicted <= {f"'{name}".replace("\r", "\n") for name in classes.values()}
    assert len([name for name in header if name.startswith("probability_")]) == 3
    assert {len(row) for row in rows} == {len(header)}
    stdout = run("predict", tmp_path / "m.vmtl", tmp_path / "test.csv").stdout
    assert stdout == (tmp_path / "p.csv").read_text()
    cells = [cell for row in (header, *rows) for cell in row]
    cells += [cell for line in (tmp_path / "p.tsv").read_text().splitlines() for cell in line.split("\t")]
    assert not [cell for cell in cells if cell.strip('"').startswith(FORMULA_STARTS) and not _is_number(cell)]


def test_wild_names_go_through_every_command(run: Run, tmp_path: Path) -> None:
    """Also the names of files and columns: nothing is written beside the files that were asked for."""
    home = tmp_path / "home"
    home.mkdir()
    classes = {"mild": "=mild", "none": "<b onclick=alert(1)>none</b>", "severe": "../severe"}
    train, test = home / "<img src=x onerror=alert(1)>.csv", home / "=test().csv"
    for file, seed in ((train, 0), (test, 1)):
        write_wild(file, seed, TASKS, classes)
    model = home / "<script>alert(2)<script>.vmtl"
    assert run("fit", train, "--task", "site", "--target", "outcome", "--out", model, *FEW).exit_code == 0
    assert run("predict", model, test, "--out", home / "p.csv").exit_code == 0
    title = "<script>alert(3)</script>"
    report = ("report", model, "--data", test, "--train", train, "--compare", "none", "--repeats", 0, "--title", title)
    done = run(*report, "--out", home / "r.html")
    assert done.exit_code == 0, done.output
    cells = [cell for row in read_cells(home / "p.csv") for cell in row]
    assert "'=HYPERLINK(1)" in cells
    assert not [cell for cell in cells if cell.startswith(FORMULA_STARTS) and not _is_number(cell)]
    page = (home / "r.html").read_text()
    assert "&lt;script&gt;alert(1)" in page
    assert "&lt;script&gt;alert(3)" in page
    assert not [tag for tag in ("<script>alert", "<img src=x", "<b onclick") if tag in page]
    assert sorted(home.iterdir()) == sorted([train, test, model, home / "p.csv", home / "r.html"])
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
