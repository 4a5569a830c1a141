"""``vmtl check``: what columns are taken for before a fit, and what has drifted before a prediction."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers.tables import FEW, Run, make_table
from vmtl import load


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """Rows as people write them, with six slips in the target."""
    rng = np.random.default_rng(0)
    day = pd.Series(pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 300, 120), "D"))
    table = pd.DataFrame({"site": rng.choice(["north", "south"], 120), "day": day.dt.strftime("%d.%m.%Y")})
    table["share"] = [f"{100 * value:.1f}%" for value in rng.random(120)]
    table["cost"] = rng.normal(50, 5, 120).round(2)
    table.loc[[4, 9], "cost"] = 1e7
    table.to_csv(tmp_path / "written.csv", index=False)
    return tmp_path / "written.csv"


def test_a_table_is_described_before_any_fit(run: Run, written: Path) -> None:
    done = run("check", written, "--task", "site", "--target", "cost")
    assert done.exit_code == 0, done.output
    assert "2 columns (1 number, 1 date)" in done.stdout
    assert "date (day first)" in done.stdout
    assert "number (percent)" in done.stdout
    assert "- 2 tasks with" in done.stdout
    assert "The target 'cost' has 2 values far from all others (10,000,000, in data rows 5, 10)" in done.stdout


def test_a_type_overrules_what_a_column_looks_like(run: Run, written: Path) -> None:
    check = ("check", written, "--task", "site", "--target", "cost", "--json")
    taken = {column["column"]: column["taken for"] for column in json.loads(run(*check).stdout)["columns"]}
    assert taken == {"day": "date (day first)", "share": "number (percent)"}
    document = json.loads(run(*check, "--type", "share=text").stdout)
    assert document["columns"][1]["taken for"] == "text"


def test_classes_that_occur_once_and_small_tasks_are_named(run: Run, tmp_path: Path) -> None:
    table = make_table(60, 0).drop(columns="days")
    table.loc[3, "outcome"] = "odd"
    table.loc[:3, "site"] = "tiny"
    table.to_csv(tmp_path / "t.csv", index=False)
    said = run("check", tmp_path / "t.csv", "--task", "site", "--target", "outcome").stdout
    assert "'odd' occurs in one row only" in said
    assert "1 task has fewer than 10 rows, and will lean on the others: 'tiny' (4)." in said
    assert "No task has every class" in said


def test_a_model_knows_whether_new_rows_have_drifted(run: Run, tables: Path, real_model: Path, tmp_path: Path) -> None:
    done = run("check", real_model, tables / "new.csv")
    assert done.exit_code == 0, done.output
    assert "60 rows of 3 tasks, all known from training" in done.stdout
    assert "All columns look as they did in training." in done.stdout
    new = pd.read_csv(tables / "new.csv")
    new["age"] += 3
    new.loc[:4, "site"] = "east"
    new.assign(extra=1).to_csv(tmp_path / "n.csv", index=False)
    said = run("check", real_model, tmp_path / "n.csv").stdout
    assert "1 task was not in training: 'east' (5 rows)." in said
    assert "Columns that are not as in training (1 of 4)" in said
    assert "large shift" in said
    assert "Tasks with another mean than in training (3)" in said
    document = json.loads(run("check", real_model, tmp_path / "n.csv", "--json").stdout)
    assert {one["column"] for one in document["moved"]} == {"age"}
    assert document["new_tasks"] == {"east": 5}


def test_columns_that_cannot_be_predicted_from_are_named(
    run: Run, tables: Path, real_model: Path, tmp_path: Path
) -> None:
    new = pd.read_csv(tables / "new.csv").drop(columns="dose").assign(age="old")
    new.to_csv(tmp_path / "n.csv", index=False)
    said = run("check", real_model, tmp_path / "n.csv").stdout
    assert "These rows cannot be predicted before this is repaired: age, dose." in said
    assert "unreadable" in said


def test_a_model_keeps_a_profile_but_no_row(run: Run, real_model: Path) -> None:
    profile = load(real_model).metadata_["profile"]
    assert sum(profile["rows"].values()) == 90
    assert "profile" not in json.loads(run("info", real_model, "--json").stdout)


def test_what_makes_no_sense_is_refused(run: Run, tables: Path, real_model: Path, tmp_path: Path) -> None:
    done = run("check", real_model, tables / "new.csv", "--type", "age=text")
    assert done.exit_code == 2
    assert "leave out --target, --kind, --drop and --type" in done.stderr
    load(real_model).save(tmp_path / "bare.vmtl", metadata={"task": "site"})
    done = run("check", tmp_path / "bare.vmtl", tables / "new.csv")
    assert done.exit_code == 2
    assert "does not say what its training rows looked like" in done.stderr


def test_a_fit_reads_a_table_as_the_check_said(run: Run, written: Path, tmp_path: Path) -> None:
    fit = ("fit", written, "--task", "site", "--target", "cost", "--out", tmp_path / "m.vmtl", *FEW)
    done = run(*fit, "--type", "share=text")
    assert done.exit_code == 0, done.output
    assert "2 columns (1 text, 1 date)" in done.stderr
    assert "The target 'cost' has 2 values far from all others" in done.stderr
    preprocessor = load(tmp_path / "m.vmtl").preprocessor_
    assert preprocessor is not None
    assert preprocessor.kinds_ == {"day": "date", "share": "text"}
