"""What a newcomer is told about a table before it is fitted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers.tables import FEW, Run, make_table
from vmtl.cli._support.advice import about_column, columns_by_kind, warnings_about, what_was_read
from vmtl.data.problem import Problem


def test_columns_are_counted_by_kind() -> None:
    table = pd.DataFrame({"a": [1, 2], "b": [True, False], "c": ["x", "y"], "d": ["2024-01-01", "2024-01-02"]})
    assert columns_by_kind(table) == "4 columns (2 numbers, 1 text, 1 date)"
    assert columns_by_kind(table[["a"]]) == "1 column (1 number)"
    assert columns_by_kind(np.zeros((2, 3))) == "3 columns"


def problem_of(values: list[object], y: object = None, task: object = None) -> Problem:
    n = len(values)
    task = np.arange(n) % 2 if task is None else np.asarray(task)
    X = pd.DataFrame({"my name": pd.Series(values)})
    y = np.zeros(n) if y is None else np.asarray(y, dtype=float)
    return Problem("t", X, y, task, tuple(map(str, range(int(task.max()) + 1))))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([f"P{i}" for i in range(30)], "'my name' looks like an identifier"),
        ([f"P{i}" for i in range(30)], "--drop 'my name'"),
        (["1.5"] * 97 + ["<0.5"] * 3, "'my name' is 97 % numbers; 3 cells such as '<0.5' are not"),
        (["1.5"] * 997 + ["<0.5"], "1 cell such as '<0.5' is not, so it is treated as text; correct it, or count it"),
        (["14/06/2023"] * 50 + ["soon"], "'my name' is 98 % dates"),
        (["03/04/2023", "05/06/2023"] * 10, "do not show which part is the day; they are read with the month first"),
        (["03/04/2023", "05/06/2023"] * 10, "add --type 'my name'=day-first"),
        (["12,345", "1,234"] * 10, "'12,345' is read as the number 12345; if that is wrong, add --type"),
        ([*range(40, 80), 1e7], "Column 'my name' has 1 value far from all others (10,000,000, in data row 41)"),
        (["a", "b", "c"] * 10, None),
        ([f"P{i}" for i in range(5)], None),
        (["14/06/2023", "$5"] * 10, None),
        (["14/06/2023"] * 20, None),
        (["$1,234.50", "$3"] * 10, None),
        (list(range(30, 0, -1)), "'my name' looks like a row number"),
        ([*range(19), None, 19], "--drop 'my name'"),
        (list(range(5)), None),
        (list(range(0, 90, 3)), None),
        ([0, *range(29)], None),
        ([i + 0.5 for i in range(30)], None),
        (["1", "2", "x"] * 10, None),
    ],
)
def test_columns_that_are_seldom_meant(values: list[object], said: str | None) -> None:
    sentences = list(about_column(problem_of(values), "my name"))
    assert sentences == [] if said is None else any(said in sentence for sentence in sentences)


def test_a_year_that_recurs_across_tasks_or_drives_the_target_is_not_to_be_dropped() -> None:
    years = np.tile(np.arange(2000, 2020), 8)
    assert list(about_column(problem_of(list(years), task=np.repeat(np.arange(8), 20)), "my name")) == []
    order, noise = np.arange(60), np.random.default_rng(0).normal(size=60)
    assert list(about_column(problem_of(list(order), order / 20 + noise), "my name")) == []


def test_targets_are_checked_like_columns() -> None:
    y = np.random.default_rng(0).normal(50, 10, 623)
    y[[3, 5, 100, 200, 300, 622]] = 1e7
    (said,) = list(warnings_about(problem_of(["a", "b", "c"] * 207 + ["a", "b"], y), "cost"))
    assert said.startswith("The target 'cost' has 6 values far from all others (10,000,000, in data rows 4, 6, 101, ")


@pytest.mark.parametrize(
    ("y", "said"), [([0, 1, 85], "whole numbers from 0 to 85"), ([0.5, 1, 2], "numbers from 0.5 to 2")]
)
def test_a_target_of_counts_has_whole_numbers(y: list[float], said: str) -> None:
    assert f"'TICKS' has {said}, so this is regression" in what_was_read(problem_of([1, 2, 3], y), "TICKS", forced=True)


def test_a_fit_warns_and_goes_on(run: Run, tmp_path: Path) -> None:
    table = make_table(60, 0).drop(columns="days").assign(patient=[f"P{i}" for i in range(60)], site="north")
    table.to_csv(tmp_path / "t.csv", index=False)
    fit = ("fit", tmp_path / "t.csv", "--task", "site", "--target", "outcome", "--out", tmp_path / "m.vmtl", *FEW)
    done = run(*fit)
    assert done.exit_code == 0, done.output
    assert "60 rows, 1 task, 5 columns (3 numbers, 2 text)" in done.stderr
    assert "Warning: There is one task only, so there is nothing to share" in done.stderr
    assert "Warning: 'patient' looks like an identifier" in done.stderr
    assert "Warning" not in run(*fit, "--drop", "patient", "--quiet").stderr


def test_a_fit_points_out_identifiers_constants_and_leaks(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = make_table(120, 0).drop(columns="days")
    table["number"] = rng.permutation(np.arange(1001, 1121))
    table["country"] = "NL"
    table["code"] = table["outcome"].str.upper()
    table.to_csv(tmp_path / "t.csv", index=False)
    fit = ("fit", tmp_path / "t.csv", "--task", "site", "--target", "outcome", "--out", tmp_path / "m.vmtl", *FEW)
    said = run(*fit).stderr
    assert "'number' looks like a row number or an identifier" in said
    assert "'country' has the same value in every row, so it tells nothing; leave it out with --drop country." in said
    assert "'code' alone predicts the target almost perfectly (balanced accuracy 1.000 on left-out rows)" in said
    left_out = ("--drop", "number", "--drop", "country", "--drop", "code")
    done = run(*fit, *left_out, "--json")
    assert json.loads(done.stdout)["warnings"] == []
    assert "Warning" not in done.stderr
