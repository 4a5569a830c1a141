"""Outputs: no cell is a formula, no name is a path."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest
from cli_tables import FEW, Run, make_table

from vmtl.cli._files import FORMULA_STARTS, csv_text, neutral


@pytest.mark.parametrize("start", FORMULA_STARTS)
def test_text_that_starts_like_a_formula_is_neutral(start: str) -> None:
    assert neutral(f"{start}cmd|' /C calc'!A0") == f"'{start}cmd|' /C calc'!A0"


@pytest.mark.parametrize("value", ["-1.5", "+2", "-1e-3", -3.5, 7, "plain", "a=b", "", None])
def test_numbers_and_plain_text_stay(value: object) -> None:
    assert neutral(value) == value


def test_columns_and_cells_are_neutral_and_numbers_stay_numbers() -> None:
    table = pd.DataFrame({"=evil()": ["@SUM(A1)", "fine"], "change": [-1.5, 2.0], "kind": pd.Categorical(["-x", "y"])})
    rows = list(csv.reader(csv_text(table).splitlines()))
    assert rows == [["'=evil()", "change", "kind"], ["'@SUM(A1)", "-1.5", "'-x"], ["fine", "2.0", "y"]]


def test_wild_names_go_through_every_command(run: Run, tmp_path: Path) -> None:
    names = {"north": "=HYPERLINK(1)", "south": "../../up/and/away", "west": "<script>alert(1)</script>"}
    home = tmp_path / "home"
    home.mkdir()
    for name, seed in (("train", 0), ("test", 1)):
        table = make_table(70, seed).drop(columns="days")
        table["site"] = table["site"].map(names)
        table["outcome"] = table["outcome"].map({"mild": "=mild", "none": "@none", "severe": "severe"})
        table.to_csv(home / f"{name}.csv", index=False)
    model = home / "m.vmtl"
    fit = ("fit", home / "train.csv", "--task", "site", "--target", "outcome", "--out", model, *FEW)
    assert run(*fit).exit_code == 0
    assert run("predict", model, home / "test.csv", "--out", home / "p.csv").exit_code == 0
    done = run("report", model, "--data", home / "test.csv", "--out", home / "r.html")
    assert done.exit_code == 0, done.output
    with (home / "p.csv").open(newline="") as stream:
        cells = [cell for row in csv.reader(stream) for cell in row]
    assert "'=HYPERLINK(1)" in cells
    assert not [cell for cell in cells if cell.startswith(FORMULA_STARTS) and not _is_number(cell)]
    assert "<script>alert" not in (home / "r.html").read_text()
    assert sorted(path.name for path in home.iterdir()) == ["m.vmtl", "p.csv", "r.html", "test.csv", "train.csv"]
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
