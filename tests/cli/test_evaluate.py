"""``vmtl evaluate``: scores per task."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from helpers.tables import Run
from vmtl import MultiTaskClassifier, MultiTaskRegressor


def test_class_scores_per_task(run: Run, tables: Path, class_model: Path) -> None:
    labelled = tables / "class_labelled.csv"
    found = json.loads(run("evaluate", class_model, labelled, "--json").stdout)["scores"]
    table = pd.read_csv(labelled)
    expected = MultiTaskClassifier.load(class_model).score_tasks(table.drop(columns="outcome"), table["outcome"])
    assert [row["task"] for row in found] == ["north", "south", "west", "(all rows)"]
    for row in found[:-1]:
        assert row["accuracy"] == pytest.approx(expected[row["task"]])
        assert row["low"] <= row["accuracy"] <= row["high"]
        assert {"nll", "ece", "brier"} <= set(row)
    assert sum(row["rows"] for row in found[:-1]) == found[-1]["rows"] == 60
    shown = run("evaluate", class_model, labelled)
    assert shown.exit_code == 0
    assert "north" in shown.stdout


def test_real_scores_per_task(run: Run, tables: Path, real_model: Path) -> None:
    labelled = tables / "real_labelled.csv"
    found = json.loads(run("evaluate", real_model, labelled, "--json").stdout)["scores"][-1]
    table = pd.read_csv(labelled)
    error = MultiTaskRegressor.load(real_model).predict(table.drop(columns="days")) - table["days"]
    assert found["rmse"] == pytest.approx((error**2).mean() ** 0.5, rel=1e-4)
    assert found["nmse"] < 1
    assert run("evaluate", real_model, labelled).exit_code == 0


def test_other_column_names(run: Run, tables: Path, class_model: Path, tmp_path: Path) -> None:
    table = pd.read_csv(tables / "class_labelled.csv").rename(columns={"site": "place", "outcome": "truth"})
    table.to_csv(tmp_path / "t.csv", index=False)
    renamed = run("evaluate", class_model, tmp_path / "t.csv", "--task", "place", "--target", "truth", "--json")
    plain = run("evaluate", class_model, tables / "class_labelled.csv", "--json")
    assert json.loads(renamed.stdout)["scores"] == json.loads(plain.stdout)["scores"]
