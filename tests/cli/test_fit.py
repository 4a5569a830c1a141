"""``vmtl fit``: a labelled table -> one model file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers.tables import FEW, Run
from vmtl import load


def test_classes_are_found_and_said(run: Run, tables: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.vmtl"
    done = run("fit", tables / "class_train.csv", "--task", "site", "--target", "outcome", "--out", out, *FEW)
    assert done.exit_code == 0, done.output
    assert "'outcome' has 3 classes, so this is classification" in done.stderr
    assert "--kind" not in done.stderr  # text cannot be a regression target
    assert "4 columns (3 numbers, 1 text)" in done.stderr
    assert "Warning" not in done.stderr
    assert done.stdout == ""
    assert load(out).metadata_["rows"].keys() == {"north", "south", "west"}


def test_the_kind_can_be_forced(run: Run, tmp_path: Path) -> None:
    table = pd.DataFrame({"x": np.linspace(0, 1, 40), "site": ["a", "b"] * 20, "y": [0, 1, 1, 2] * 10})
    table.to_csv(tmp_path / "t.csv", index=False)
    arguments = ("fit", tmp_path / "t.csv", "--task", "site", "--target", "y", "--out", tmp_path / "m.vmtl", *FEW)
    said = run(*arguments).stderr
    assert "so this is classification; if its numbers are amounts rather than names, add --kind regression" in said
    done = run(*arguments, "--kind", "regression")
    assert "so this is regression." in done.stderr
    load(tmp_path / "m.vmtl")


def test_numbered_sites_and_classes_stay_numbers(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=60), "site": rng.integers(1, 4, 60)})
    table["y"] = (table["x"] > 0).astype(int)
    table.to_csv(tmp_path / "t.csv", index=False)
    model, out = tmp_path / "m.vmtl", tmp_path / "p.csv"
    fit = ("fit", tmp_path / "t.csv", "--task", "site", "--target", "y", "--out", model, *FEW, "-q")
    assert run(*fit).exit_code == 0
    loaded = load(model)
    assert loaded.classes_.tolist() == [0, 1]
    assert loaded.tasks_.tolist() == [1, 2, 3]
    assert loaded.score(table[["x", "site"]], table["y"]) > 0.8
    table["site"] = table["site"].astype(float)  # written as 1.0
    table.drop(columns="y").to_csv(tmp_path / "n.csv", index=False)
    assert run("predict", model, tmp_path / "n.csv", "--out", out).exit_code == 0
    assert (pd.read_csv(out)["prediction"] == loaded.predict(table)).all()


def test_folds_make_a_promise_for_any_preset(run: Run, tables: Path, tmp_path: Path) -> None:
    out, p = tmp_path / "m.vmtl", tmp_path / "p.csv"
    fit = ("fit", tables / "class_train.csv", "--task", "site", "--target", "outcome", "--out", out, *FEW, "-q")
    done = run(*fit, "--paper-method", "vmtl", "--steps", "15", "--folds", "2")
    assert done.exit_code == 0, done.output
    assert load(out).has_left_out_scores()
    assert run("predict", out, tables / "class_train.csv", "--coverage", "0.8", "--out", p).exit_code == 0
    assert pd.read_csv(p)["set"].notna().all()


def test_options_reach_the_estimator(run: Run, tables: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.vmtl"
    fit = ("fit", tables / "class_train.csv", "--task", "site", "--target", "outcome", "--out", out, *FEW, "-q")
    chosen = (
        "--paper-method",
        "stl",
        "--steps",
        "15",
        "--set",
        "encoder=linear",
        "--set",
        "latent_dim=4",
        "--drop",
        "ward",
    )
    assert run(*fit, *chosen).exit_code == 0
    document = json.loads(run("info", out, "--json").stdout)
    assert document["method"] == "STL"
    assert document["columns"] == ["age", "dose", "bmi"]
    settings = load(out).settings_
    assert (settings.encoder, settings.latent_dim, settings.max_steps) == ("linear", 4, 15)


def test_a_checkpointed_run_gives_the_same_model(run: Run, tables: Path, tmp_path: Path) -> None:
    fit = ("fit", tables / "class_train.csv", "--task", "site", "--target", "outcome", *FEW, "-q")
    fit += ("--paper-method", "vmtl", "--steps", "15")
    class_model = tmp_path / "whole.vmtl"
    assert run(*fit, "--out", class_model).exit_code == 0
    for name in ("first", "again"):
        done = run(*fit, "--checkpoint", tmp_path / "state", "--out", tmp_path / f"{name}.vmtl")
        assert done.exit_code == 0, done.output
    new = pd.read_csv(tables / "new.csv")
    expected = load(class_model).predict_proba(new)
    for name in ("first", "again"):
        np.testing.assert_array_equal(load(tmp_path / f"{name}.vmtl").predict_proba(new), expected)


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_quiet_says_nothing_and_json_says_everything(
    run: Run, tables: Path, class_model: Path, tmp_path: Path, command: str
) -> None:
    out = tmp_path / "out"
    arguments: tuple[object, ...] = ("predict", class_model, tables / "new.csv", "--out", out)
    if command == "fit":
        table = tables / "class_train.csv"
        arguments = ("fit", table, "--task", "site", "--target", "outcome", "--out", out, *FEW)
    done = run(*arguments, "--quiet")
    assert (done.exit_code, done.output) == (0, "")
    document = json.loads(run(*arguments, "--json", "--quiet").stdout)
    assert str(out) in document.values()


def test_rows_can_be_held_out_and_scored(run: Run, tables: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.vmtl"
    fit = ("fit", tables / "class_train.csv", "--task", "site", "--target", "outcome", "--out", out, *FEW)
    done = run(*fit, "--holdout", "0.2")
    assert done.exit_code == 0, done.output
    assert "rows that were held out" in done.stdout
    assert "95 %" in done.stdout
    rows = load(out).metadata_["rows"]
    assert f"fitted to the other {sum(rows.values())} rows" in done.stderr
    document = json.loads(run(*fit, "--holdout", "0.2", "--json").stdout)
    held = document["held_out"]["scores"][-1]
    assert held["rows"] == 90 - sum(rows.values())
    assert held["low"] <= held["accuracy"] <= held["high"]
    assert "profile" not in document
