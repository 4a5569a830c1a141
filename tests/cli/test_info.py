"""``vmtl info``: what a model file holds."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from helpers.tables import Run
from vmtl import MultiTaskRegressor
from vmtl.cli._support.loading import load_model
from vmtl.cli.info import MEANINGS, unlike
from vmtl.inference.hyperparameters import Hyperparameters


def test_info_says_who_learns_from_whom(run: Run, class_model: Path) -> None:
    shown = run("info", class_model)
    assert shown.exit_code == 0, shown.output
    for word in ("classification", "north, south, west", "mild, none, severe", "Who learns from whom", "class_train"):
        assert word in shown.stdout
    document = json.loads(run("info", class_model, "--json").stdout)
    assert document["target"] == "outcome"
    assert document["seed"] == 3  # as given, not the number drawn from it
    assert [sum(row) == pytest.approx(1, abs=1e-4) for row in document["alpha"]] == [True] * 3
    assert document["finding"]["sentence"] in shown.stdout
    assert len(document["sharing"]) == 3


def test_info_says_which_tasks_follow_one_rule(run: Run, class_model: Path, tmp_path: Path) -> None:
    plain = json.loads(run("info", class_model, "--json").stdout)
    assert plain["groups"]["group"] == [0, 0, 0]
    assert "rules" not in run("info", class_model).stdout
    rng, task = np.random.default_rng(0), np.repeat(np.arange(6), 20)
    x = rng.normal(size=(120, 2))
    y = x[np.arange(120), task % 2] + 0.1 * rng.normal(size=120)
    MultiTaskRegressor(random_state=0).fit(x, y, tasks=task).save(tmp_path / "rules.vmtl")
    document = json.loads(run("info", tmp_path / "rules.vmtl", "--json").stdout)
    assert document["groups"]["group"] == [0, 1, 0, 1, 0, 1]
    shown = " ".join(run("info", tmp_path / "rules.vmtl").stdout.split())
    assert "By their targets the tasks follow 2 rules" in shown
    assert "0, 2, 4; 1, 3, 5." in shown


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
    assert len(inferred["relevance"]) > 3
    assert "relevance " in shown
    assert [len(row) for row in inferred["structure"]["covariance"]] == [3] * 3


def test_tables_fit_80_columns_and_say_what_numbers_mean(run: Run, class_model: Path) -> None:
    shown = run("info", class_model).stdout
    assert all(len(line) <= 80 for line in shown.splitlines() if line[:1] in "┏┃┡│└")
    document = json.loads(run("info", class_model, "--json").stdout)
    assert document["digest"][:12] in shown
    assert document["digest"][:13] not in shown
    assert document["hyperparameters"]["strategy"] == "exact"
    assert "learning rate" not in shown
    assert MEANINGS["correlation"] in shown


def test_every_hyper_parameter_has_a_meaning() -> None:
    assert set(MEANINGS) == {field.name for field in fields(Hyperparameters)} - {"structure"}
    assert max(map(len, MEANINGS.values())) <= 28


def test_strengths_have_their_intervals(run: Run, class_model: Path) -> None:
    shown, model = run("info", class_model).stdout, load_model(class_model)
    low, high = model.sharing_interval_.loc["north"]
    assert f"{model.sharing_['north']:.2f} [{low:.2f}, {high:.2f}]" in shown


def test_columns_that_count_unlike_the_others_are_named() -> None:
    names = [f"column{d}" for d in range(9)]
    told = unlike(names, (1.0, 3.0, 1.04, 0.2, 1.5, 1.4, 0.7, 1.3, 1.0))
    assert told == "column3 0.20, column1 3.00, column4 1.50, column6 0.70, column5 1.40, 4 others nearer to 1"
    assert unlike(names[:2], (1.01, 1.0)) == "all columns count alike"
    assert unlike(names[:2], (2.0, 0.5)) == "column0 2.00, column1 0.50"
