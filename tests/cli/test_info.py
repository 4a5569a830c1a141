"""``vmtl info``: what a model file holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.tables import Run


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
