"""``vmtl cross-validate``: every row, or every task, is held out once."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from helpers.tables import FEW, Run


@pytest.mark.parametrize(("name", "target", "measure"), [("class", "outcome", "accuracy"), ("real", "days", "rmse")])
def test_every_row_is_held_out_once(run: Run, tables: Path, name: str, target: str, measure: str) -> None:
    cross = ("cross-validate", tables / f"{name}_train.csv", "--task", "site", "--target", target, "--folds", "3", *FEW)
    document = json.loads(run(*cross, "--json").stdout)
    assert [fold["rows"] for fold in document["folds"]] == [30, 30, 30]
    *tasks, whole = document["scores"]
    assert [task["task"] for task in tasks] == ["north", "south", "west"]
    assert whole["rows"] == 90
    assert whole["low"] < whole[measure] < whole["high"]
    done = run(*cross)
    assert "3 folds" in done.stdout
    assert "(mean of tasks)" in done.stdout


def test_whole_tasks_are_held_out(run: Run, tables: Path) -> None:
    cross = (
        "cross-validate",
        tables / "real_train.csv",
        "--task",
        "site",
        "--target",
        "days",
        *FEW,
        "--leave-tasks-out",
    )
    document = json.loads(run(*cross, "--folds", "3", "--json").stdout)
    sizes = pd.read_csv(tables / "real_train.csv")["site"].value_counts()
    assert sorted(fold["rows"] for fold in document["folds"]) == sorted(sizes)
    for option, said in (
        (("--folds", "4"), "choose a number from 2 to 3"),
        (("--unknown-task", "error"), "average or"),
    ):
        done = run(*cross, *option)
        assert done.exit_code == 2
        assert said in done.stderr


def test_a_class_and_a_task_of_one_row_do_no_harm(run: Run, tables: Path, tmp_path: Path) -> None:
    table = pd.read_csv(tables / "class_train.csv")
    table.loc[0, "outcome"], table.loc[1, "site"] = "odd", "tiny"
    table.to_csv(tmp_path / "t.csv", index=False)
    cross = ("cross-validate", tmp_path / "t.csv", "--task", "site", "--target", "outcome", "--folds", "2", *FEW)
    done = run(*cross, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["scores"][-1]["rows"] == 90
