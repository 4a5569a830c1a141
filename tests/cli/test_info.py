"""``vmtl info``: what a model file holds."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from helpers.tables import Run
from vmtl.cli._support.loading import load_model
from vmtl.cli.info import MEANINGS, unlike
from vmtl.gp import hyperparameters as gp
from vmtl.paper import hyperparameters as paper


def test_info_says_who_learns_from_whom(run: Run, class_model: Path) -> None:
    shown = run("info", class_model)
    assert shown.exit_code == 0, shown.output
    for word in ("classification", "north, south, west", "mild, none, severe", "Who learns from whom", "class_train"):
        assert word in shown.stdout
    document = json.loads(run("info", class_model, "--json").stdout)
    assert document["target"] == "outcome"
    assert document["seed"] == 3  # as given, not the number drawn from it
    assert [sum(row) == pytest.approx(1, abs=1e-4) for row in document["alpha"]] == [True] * 3
    assert document["finding"]["sentence"] in " ".join(shown.stdout.split())
    assert len(document["sharing"]) == 3


def test_info_says_what_was_inferred(run: Run, class_model: Path) -> None:
    shown = run("info", class_model).stdout
    inferred = json.loads(run("info", class_model, "--json").stdout)["hyperparameters"]
    assert "What was inferred" in shown
    for name in ("correlation", "scale", "strength"):
        assert f"{name} " in shown
        assert f"{inferred[name]:.3f}" in shown
    first = max(inferred["kernel_shares"], key=inferred["kernel_shares"].get)
    assert f"{first} {inferred['kernel_shares'][first]:.2f}" in shown
    assert "relevance " in shown


def test_tables_fit_80_columns_and_say_what_numbers_mean(run: Run, class_model: Path) -> None:
    shown = run("info", class_model).stdout
    assert all(len(line) <= 80 for line in shown.splitlines() if line[:1] in "┏┃┡│└")
    document = json.loads(run("info", class_model, "--json").stdout)
    assert document["digest"][:12] in shown
    assert document["digest"][:13] not in shown
    assert MEANINGS["correlation"] in shown


def test_every_hyper_parameter_has_a_meaning() -> None:
    known = {field.name for system in (gp, paper) for field in fields(system.Hyperparameters)}
    assert set(MEANINGS) == known
    assert max(map(len, MEANINGS.values())) <= 28


def test_every_task_has_its_strength(run: Run, class_model: Path) -> None:
    shown, model = run("info", class_model).stdout, load_model(class_model)
    assert all(f"{value:.2f}" in shown for value in model.sharing_)


def test_columns_that_count_unlike_the_others_are_named() -> None:
    names = [f"column{d}" for d in range(9)]
    told = unlike(names, (1.0, 3.0, 1.04, 0.2, 1.5, 1.4, 0.7, 1.3, 1.0))
    assert told == "column3 0.20, column1 3.00, column4 1.50, column6 0.70, column5 1.40, 4 others nearer to 1"
    assert unlike(names[:2], (1.01, 1.0)) == "all columns count alike"
    assert unlike(names[:2], (2.0, 0.5)) == "column0 2.00, column1 0.50"
