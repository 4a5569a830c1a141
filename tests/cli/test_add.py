"""``vmtl add``: tasks more in a model file, and bad input that leaves none."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers.tables import Run
from vmtl.cli._support.loading import load_model

MODELS = [("class", "outcome"), ("real", "days")]


def renamed(tables: Path, name: str, folder: Path, site: str = "east") -> Path:
    """The labelled rows of a site, under another name."""
    table = pd.read_csv(tables / f"{name}_labelled.csv")
    table = table[table["site"] == "west"].assign(site=site)
    table.to_csv(folder / "more.csv", index=False)
    return folder / "more.csv"


@pytest.mark.parametrize(("name", "target"), MODELS)
def test_a_new_task_is_added_and_the_others_stay(
    run: Run, tables: Path, tmp_path: Path, name: str, target: str, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(f"{name}_model")
    more, out = renamed(tables, name, tmp_path), tmp_path / "model2.vmtl"
    done = run("add", model, more, "--out", out)
    assert done.exit_code == 0, done.output
    assert "1 task more ('east') in" in done.stderr
    before, after = load_model(model), load_model(out)
    assert after.tasks_.tolist() == [*before.tasks_.tolist(), "east"]
    assert after.metadata_["rows"]["east"] == len(pd.read_csv(more))
    rows = pd.read_csv(tables / "new.csv")
    one, other = (model.uncertainty(rows) for model in (before, after))
    np.testing.assert_array_equal(one.to_numpy(), other.to_numpy())
    for command in (("predict", out, more), ("evaluate", out, more), ("info", out)):
        assert run(*command, "--json").exit_code == 0


def test_known_tasks_get_more_rows_and_scripts_read_it(
    run: Run, tables: Path, class_model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "model2.vmtl"
    done = run("add", class_model, renamed(tables, "class", tmp_path, "north"), "--out", out, "--json")
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts["added"] == {}
    assert list(facts["more_rows"]) == ["north"]
    assert load_model(out).tasks_.tolist() == load_model(class_model).tasks_.tolist()


def test_bad_input_is_a_sentence_and_no_file(run: Run, tables: Path, class_model: Path, tmp_path: Path) -> None:
    more, out = renamed(tables, "class", tmp_path), tmp_path / "model2.vmtl"
    table = pd.read_csv(more)
    first = next(column for column in table if column not in ("site", "outcome"))
    for bad, sentence in (
        (table.drop(columns=first), f"lacks '{first}'"),
        (table.assign(outcome="bad"), "has the class 'bad'"),
        (table.head(0), "no rows"),
        (table.drop(columns="outcome"), "outcome"),
        (table.assign(outcome=[None, *table["outcome"][1:]]), "outcome"),
    ):
        bad.to_csv(tmp_path / "bad.csv", index=False)
        done = run("add", class_model, tmp_path / "bad.csv", "--out", out)
        assert done.exit_code == 2, done.output
        assert sentence in " ".join(done.stderr.split())
        assert not out.exists()
    assert run("add", class_model, more, "--out", class_model).exit_code == 2


def test_an_unknown_task_is_predicted_by_those_it_resembles_and_that_is_said(
    run: Run, tables: Path, class_model: Path, tmp_path: Path
) -> None:
    done = run("predict", class_model, renamed(tables, "class", tmp_path), "--unknown-task", "similar")
    assert done.exit_code == 0, done.output
    assert "Task 'east' was not in training; its rows resemble" in " ".join(done.stderr.split())
