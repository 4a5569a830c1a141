"""What a fit has learned, as tables with the names of the tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import vmtl
from helpers.toys import toy
from vmtl import MultiTaskClassifier, MultiTaskRegressor, VMTLClassifier
from vmtl.estimators.relatedness_tables import RelatednessTables
from vmtl.results.relatedness import TaskStructure

DATA = toy([8, 9, 7], classes=3)
NAMES = np.array(["north", "south", "west"])


@pytest.fixture(scope="module", params=[MultiTaskClassifier, VMTLClassifier])
def model(request: pytest.FixtureRequest) -> MultiTaskClassifier | VMTLClassifier:
    small = {"encoder": "linear", "max_steps": 6} if request.param is VMTLClassifier else {}
    fitted: MultiTaskClassifier | VMTLClassifier = request.param(random_state=0, **small)
    return fitted.fit(DATA.X, DATA.y, tasks=NAMES[DATA.task])


@pytest.mark.parametrize("name", ["alpha_", "beta_"])
def test_mixing_weights_are_rows_that_sum_to_one(model: MultiTaskClassifier | VMTLClassifier, name: str) -> None:
    weights = getattr(model, name)
    assert list(weights.index) == list(weights.columns) == list(NAMES)
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-5)
    assert not np.diag(weights).any()


def test_sharing_is_a_strength_per_task(model: MultiTaskClassifier | VMTLClassifier) -> None:
    assert isinstance(model.sharing_, pd.Series)
    assert list(model.sharing_.index) == list(NAMES)
    assert model.sharing_.between(0, 1).all()


def test_teachers_are_the_largest_weights_of_a_row(model: MultiTaskClassifier | VMTLClassifier) -> None:
    expected = model.alpha_.loc["west"].drop("west").sort_values(ascending=False, kind="stable")
    pd.testing.assert_series_equal(model.teachers("west"), expected, check_names=False)
    assert len(model.teachers("west", 1)) == 1
    with pytest.raises(ValueError, match="No task 'east' was fitted; tasks_ lists those that were"):
        model.teachers("east")


def test_tasks_may_be_tuples() -> None:
    labels = np.empty(len(DATA.task), dtype=object)
    labels[:] = [("ward", int(t)) for t in DATA.task]
    model = MultiTaskClassifier().fit(DATA.X, DATA.y, tasks=labels)
    assert list(model.alpha_.index) == [("ward", 0), ("ward", 1), ("ward", 2)]


def test_a_model_without_a_structure_shares_nothing() -> None:
    tables = RelatednessTables(None, np.array(["a", "b"], dtype=object))
    assert not tables.mixing_weights("alpha").to_numpy().any()
    assert not tables.sharing().any()
    assert tables.teachers("a", 3).to_dict() == {"b": 0.0}
    with pytest.raises(AttributeError, match="This fit has no positions of its tasks"):
        tables.positions()


def test_thousands_of_tasks_have_no_table_but_teachers() -> None:
    n_tasks = 1001
    structure = TaskStructure(None, torch.ones(n_tasks), torch.ones(n_tasks), None)
    tables = RelatednessTables(structure, np.array(range(n_tasks), dtype=object))
    with pytest.raises(AttributeError, match=r"1,001 tasks have no alpha_, a table of all pairs; teachers"):
        tables.mixing_weights("alpha")
    assert tables.teachers(3, 2000).sum() == pytest.approx(1)
    assert len(tables.sharing()) == n_tasks


# ------------------------------------------------------------------ what the default infers of the tasks

INTERVALS = ("alpha_interval_", "beta_interval_", "sharing_interval_", "positions_")
Estimator = MultiTaskClassifier | MultiTaskRegressor


def grouped(kind: type[Estimator], **options: Any) -> Estimator:
    """Four tasks in two groups that lie apart and follow different rules."""
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(4), 20)
    x = rng.normal(size=(80, 4)) + 3 * np.outer(task >= 2, [0, 0, 0, 1])
    y = np.where(task >= 2, x[:, 1], x[:, 0]) + 0.2 * rng.normal(size=80)
    model = kind(**{"random_state": 0, **options})
    names = np.array(["east", "north", "south", "west"])
    return model.fit(x, y > 0 if kind is MultiTaskClassifier else y, tasks=names[task])


@pytest.fixture(scope="module", params=[MultiTaskClassifier, MultiTaskRegressor])
def default(request: pytest.FixtureRequest) -> Estimator:
    return grouped(request.param)


def test_intervals_are_tables_with_the_names_of_the_tasks(default: Estimator) -> None:
    names = ["east", "north", "south", "west"]
    for low, high in (default.alpha_interval_, default.beta_interval_):
        for table in (low, high):
            assert list(table.index) == list(table.columns) == names
            assert not np.diag(table).any()
            assert table.to_numpy().min() >= 0
        assert (low.to_numpy() <= high.to_numpy()).all()
    interval = default.sharing_interval_
    assert list(interval.columns) == ["low", "high"]
    assert list(interval.index) == names
    assert (interval["low"] <= interval["high"]).all()
    assert interval.to_numpy().min() >= 0
    assert interval.to_numpy().max() <= 1


def test_groups_are_seen_in_every_table(default: Estimator) -> None:
    positions = default.positions_
    assert list(positions.index) == ["east", "north", "south", "west"]
    assert list(positions.columns) == list(range(positions.shape[1]))
    first = positions[0]
    assert np.sign(first["east"]) == np.sign(first["north"]) == -np.sign(first["south"]) == -np.sign(first["west"])
    for table in (default.alpha_, default.beta_):
        assert table.loc["east"].idxmax() == "north"
        assert table.loc["west"].idxmax() == "south"


def test_tables_come_back_from_a_file(default: Estimator, tmp_path: Path) -> None:
    default.save(tmp_path / "m")
    loaded = vmtl.load(tmp_path / "m")
    for name in ("alpha_", "beta_", "sharing_", "sharing_interval_", "positions_"):
        assert getattr(loaded, name).equals(getattr(default, name)), name
    for name in ("alpha_interval_", "beta_interval_"):
        for there, here in zip(getattr(loaded, name), getattr(default, name), strict=True):
            assert there.equals(here), name


@pytest.mark.parametrize("kind", [MultiTaskClassifier, MultiTaskRegressor])
@pytest.mark.parametrize("relatedness", ["even", "none", "pooled"])
def test_what_was_not_inferred_is_said_in_one_sentence(kind: type[Estimator], relatedness: str) -> None:
    model = grouped(kind, relatedness=relatedness)
    for name in INTERVALS:
        said = name.strip("_").replace("_", " ")
        with pytest.raises(AttributeError, match=f"^This fit has no {said} of its tasks; MultiTaskClassifier"):
            getattr(model, name)
        assert not hasattr(model, name)
