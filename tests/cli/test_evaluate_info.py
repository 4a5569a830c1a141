"""Scores per task, and what a model file or the library holds."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from helpers.tables import Run
from vmtl import METHODS, MultiTaskClassifier, MultiTaskRegressor
from vmtl.cli._support.weights import show_weights


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


def test_info_says_who_learns_from_whom(run: Run, class_model: Path) -> None:
    shown = run("info", class_model)
    assert shown.exit_code == 0, shown.output
    for word in ("classification", "north, south, west", "mild, none, severe", "no task is preferred", "class_train"):
        assert word in shown.stdout
    document = json.loads(run("info", class_model, "--json").stdout)
    assert document["target"] == "outcome"
    assert document["seed"] == 3  # as given, not the number drawn from it
    assert [sum(row) == pytest.approx(1, abs=1e-4) for row in document["alpha"]] == [True] * 3


def test_info_says_what_was_inferred(run: Run, class_model: Path) -> None:
    shown = run("info", class_model).stdout
    inferred = json.loads(run("info", class_model, "--json").stdout)["hyperparameters"]
    assert "What was inferred" in shown
    assert inferred["strategy"] in shown
    for name in ("correlation", "scale", "logit_scale"):
        assert f"{name.replace('_', ' ')} " in shown
        assert f"{inferred[name]:.3f}" in shown
    first = max(inferred["kernel_shares"], key=inferred["kernel_shares"].get)
    assert f"{first} {inferred['kernel_shares'][first]:.2f}" in shown
    assert [len(row) for row in inferred["structure"]["covariance"]] == [3] * 3


def weights(n: int, **given: float) -> pd.DataFrame:
    """Even mixing weights of n tasks; ``ab=0.9`` is what task a takes from task b."""
    names = list("abcdefgh"[:n])
    table = pd.DataFrame(1 / (n - 1), index=names, columns=names)
    for (learner, teacher), weight in given.items():
        table.loc[learner, teacher] = weight
    return table


def test_weights_that_prefer_nobody_are_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    show_weights("Who", weights(5, ab=0.265), 12)
    assert capsys.readouterr().out == "Who: no task is preferred, each learns equally from all others.\n"


def test_a_cut_table_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    show_weights("Who", weights(5, ab=0.6), 12)
    assert "the 12 strongest of 20; an indifferent learner has 0.250" in capsys.readouterr().out
    show_weights("Who", weights(3, ab=0.6), 12)
    assert "strongest" not in capsys.readouterr().out
    show_weights("Who", weights(3) * 0, 12)
    assert capsys.readouterr().out == ""


def test_every_method_is_listed(run: Run) -> None:
    shown = run("methods").stdout
    assert all(name in shown for name in METHODS)
    assert set(json.loads(run("methods", "--json").stdout)) == set(METHODS)
