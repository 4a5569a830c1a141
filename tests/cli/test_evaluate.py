"""``vmtl evaluate``: scores per task."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from helpers.tables import FEW, Run
from vmtl import load


def test_class_scores_per_task(run: Run, tables: Path, class_model: Path) -> None:
    labelled = tables / "class_labelled.csv"
    scores = json.loads(run("evaluate", class_model, labelled, "--json").stdout)["scores"]
    table = pd.read_csv(labelled)
    expected = load(class_model).score_tasks(table.drop(columns="outcome"), table["outcome"])
    assert [row["task"] for row in scores] == ["north", "south", "west", "(all rows)"]
    for row in scores[:-1]:
        assert row["accuracy"] == pytest.approx(expected[row["task"]])
        assert row["low"] <= row["accuracy"] <= row["high"]
        assert {"nll", "ece", "brier"} <= set(row)
    assert sum(row["rows"] for row in scores[:-1]) == scores[-1]["rows"] == 60
    shown = run("evaluate", class_model, labelled)
    assert shown.exit_code == 0
    assert all(name in shown.stdout for name in ("north", "(all rows)", "(mean of tasks)"))


def test_real_scores_per_task(run: Run, tables: Path, real_model: Path) -> None:
    labelled = tables / "real_labelled.csv"
    of_all_rows = json.loads(run("evaluate", real_model, labelled, "--json").stdout)["scores"][-1]
    table = pd.read_csv(labelled)
    error = load(real_model).predict(table.drop(columns="days")) - table["days"]
    assert of_all_rows["rmse"] == pytest.approx((error**2).mean() ** 0.5, rel=1e-4)
    assert of_all_rows["nmse"] < 1
    assert run("evaluate", real_model, labelled).exit_code == 0


def test_the_training_rows_are_told(run: Run, tables: Path, class_model: Path) -> None:
    told = "These are the rows the model was trained on: the numbers are too good."
    for name, expected in (("class_train", True), ("class_labelled", False)):
        done = run("evaluate", class_model, tables / f"{name}.csv")
        assert (f"Warning: {told}" in done.stderr) == expected
        answer = run("evaluate", class_model, tables / f"{name}.csv", "--json")
        assert answer.stderr == ""
        assert [warning.startswith(told) for warning in json.loads(answer.stdout)["warnings"]] == [True] * expected


def test_other_column_names(run: Run, tables: Path, class_model: Path, tmp_path: Path) -> None:
    table = pd.read_csv(tables / "class_labelled.csv").rename(columns={"site": "place", "outcome": "truth"})
    table.to_csv(tmp_path / "t.csv", index=False)
    renamed = run("evaluate", class_model, tmp_path / "t.csv", "--task", "place", "--target", "truth", "--json")
    plain = run("evaluate", class_model, tables / "class_labelled.csv", "--json")
    assert json.loads(renamed.stdout)["scores"] == json.loads(plain.stdout)["scores"]


def event_table(tables: Path, folder: Path) -> tuple[Path, Path]:
    """Training and labelled rows whose outcome is severe or not."""
    files = (folder / "train.csv", folder / "labelled.csv")
    for name, file in zip(("class_train", "class_labelled"), files, strict=True):
        table = pd.read_csv(tables / f"{name}.csv")
        table["outcome"] = table["outcome"].where(table["outcome"] == "severe", "other")
        table.to_csv(file, index=False)
    return files


def test_scores_of_an_event(run: Run, tables: Path, tmp_path: Path) -> None:
    train, labelled = event_table(tables, tmp_path)
    model = tmp_path / "m.vmtl"
    done = run("fit", train, "--task", "site", "--target", "outcome", "--out", model, *FEW, "--quiet")
    assert done.exit_code == 0, done.output
    table = pd.read_csv(labelled)
    table.loc[:2, "outcome"] = "severe"  # no model tells these events
    table.to_csv(labelled, index=False)
    answer = json.loads(run("evaluate", model, labelled, "--json").stdout)
    loaded = load(model)
    for metric in ("auc", "balanced_accuracy", "f1", "brier"):
        expected = loaded.score_tasks(table.drop(columns="outcome"), table["outcome"], metric=metric)
        assert [row[metric] for row in answer["scores"][:-1]] == pytest.approx(expected.tolist())
        assert answer["mean_of_tasks"][metric] == pytest.approx(expected.mean())
    other = json.loads(run("evaluate", model, labelled, "--json", "--positive", "other").stdout)
    assert other["scores"][-1]["f1"] != answer["scores"][-1]["f1"]
    assert other["scores"][-1]["auc"] == answer["scores"][-1]["auc"]
    shown = run("evaluate", model, labelled).stdout
    assert "F1 is that of 'severe'" in shown
    assert all(len(line) <= 80 for line in shown.splitlines() if "│" in line)
    wrong = run("evaluate", model, labelled, "--positive", "sever")
    assert wrong.exit_code == 2
    assert "'sever' (did you mean 'severe'?) must be one of 'other', 'severe'" in wrong.stderr
    page = tmp_path / "r.html"
    ask = ("report", model, "--data", labelled, "--out", page)
    assert run(*ask, "--positive", "severe", "--cost-false-negative", 9).exit_code == 0
    assert "from a probability of 10 % on" in page.read_text()
    assert "a number above 0" in run(*ask, "--cost-false-positive", -2).stderr


def test_costs_are_for_two_classes(run: Run, tables: Path, class_model: Path, real_model: Path, tmp_path: Path) -> None:
    for model, name in ((class_model, "class"), (real_model, "real")):
        ask = ("report", model, "--data", tables / f"{name}_labelled.csv", "--out", tmp_path / "r.html")
        done = run(*ask, "--cost-false-negative", 9)
        assert done.exit_code == 2
        assert "need a model of two classes" in done.stderr
    assert not (tmp_path / "r.html").exists()


def test_rows_of_unknown_tasks_can_be_left_out(run: Run, tables: Path, class_model: Path, tmp_path: Path) -> None:
    labelled = pd.read_csv(tables / "class_labelled.csv")
    labelled.loc[:3, "site"] = "east"
    labelled.to_csv(tmp_path / "l.csv", index=False)
    done = run("evaluate", class_model, tmp_path / "l.csv", "--unknown-task", "skip", "--json")
    document = json.loads(done.stdout)
    assert document["scores"][-1]["rows"] == 56
    assert document["warnings"] == ["Skipped 4 rows of a task that was not in training: 'east'."]
