"""What a fit has learned, as tables with the names of the tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from helpers.toys import toy
from vmtl import MultiTaskClassifier, MultiTaskRegressor

DATA = toy([8, 9, 7], classes=3)
NAMES = np.array(["north", "south", "west"])


@pytest.fixture(scope="module")
def model() -> MultiTaskClassifier:
    fitted = MultiTaskClassifier("vmtl", encoder="linear", latent_dim=4, max_steps=6, random_state=0)
    return fitted.fit(DATA.X, DATA.y, tasks=NAMES[DATA.task])


@pytest.mark.parametrize("name", ["alpha_", "beta_"])
def test_mixing_weights_are_rows_that_sum_to_one(model: MultiTaskClassifier, name: str) -> None:
    weights = getattr(model, name)
    assert list(weights.index) == list(weights.columns) == list(NAMES)
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-5)
    assert not np.diag(weights).any()


def test_sharing_is_a_strength_per_task(model: MultiTaskClassifier) -> None:
    assert isinstance(model.sharing_, pd.Series)
    assert list(model.sharing_.index) == list(NAMES)
    assert model.sharing_.between(0, 1).all()


def test_history_has_a_row_per_step_and_task(model: MultiTaskClassifier) -> None:
    history = model.history_
    assert list(history.columns[:2]) == ["step", "task"]
    assert {"nll", "kl_z", "kl_w", "kl_scale_z", "kl_scale_w", "tau", "lr", "seconds"} <= set(history.columns)
    assert len(history) == 6 * 3
    assert history["step"].max() == 6
    assert history.notna().all().all()
    assert history["seconds"].is_monotonic_increasing


def test_tasks_may_be_tuples() -> None:
    labels = np.empty(len(DATA.task), dtype=object)
    labels[:] = [("ward", int(t)) for t in DATA.task]
    model = MultiTaskClassifier("vmtl", encoder="linear", latent_dim=4, max_steps=2).fit(DATA.X, DATA.y, tasks=labels)
    assert list(model.alpha_.index) == [("ward", 0), ("ward", 1), ("ward", 2)]


# ------------------------------------------------------------------ what the default preset infers of the tasks

INTERVALS = ("alpha_interval_", "beta_interval_", "sharing_interval_", "positions_")
Estimator = MultiTaskClassifier | MultiTaskRegressor


def grouped(kind: type[Estimator], **options: Any) -> Estimator:
    """Four tasks in two groups that lie apart and follow different rules."""
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(4), 20)
    x = rng.normal(size=(80, 4)) + 3 * np.outer(task >= 2, [0, 0, 0, 1])
    y = np.where(task >= 2, x[:, 1], x[:, 0]) + 0.2 * rng.normal(size=80)
    model = kind(**{"max_steps": 2, "random_state": 0, **options})
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
    loaded = type(default).load(tmp_path / "m")
    for name in ("alpha_", "beta_", "sharing_", "sharing_interval_", "positions_"):
        assert getattr(loaded, name).equals(getattr(default, name)), name
    for name in ("alpha_interval_", "beta_interval_"):
        for there, here in zip(getattr(loaded, name), getattr(default, name), strict=True):
            assert there.equals(here), name


def test_tasks_that_lie_nowhere_have_no_coordinates_also_in_a_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, task = rng.normal(size=(60, 3)), np.repeat(np.arange(4), 15)
    model = MultiTaskClassifier(max_steps=2, random_state=0).fit(x, x[:, 0] > 0, tasks=task)
    empty = torch.zeros(4, 0, dtype=torch.float64)
    object.__setattr__(model.hyperparameters_.structure, "positions", empty)  # whatever these rows gave
    model.save(tmp_path / "m")
    assert MultiTaskClassifier.load(tmp_path / "m").positions_.shape == (4, 0)


@pytest.mark.parametrize("kind", [MultiTaskClassifier, MultiTaskRegressor])
@pytest.mark.parametrize(
    "options",
    [
        {"preset": "paper", "latent_dim": 4},
        {"preset": "released", "latent_dim": 4},
        {"method": "bmtl"},
        {"mixing": "mean"},
        {"sharing": 0.5},
    ],
    ids=str,
)
def test_what_was_not_inferred_is_said_in_one_sentence(
    kind: type[Estimator], options: dict[str, Any], quick_inference: None
) -> None:
    model = grouped(kind, **options)
    for name in INTERVALS:
        said = name.strip("_").replace("_", " ")
        with pytest.raises(AttributeError, match=f"^This fit has no {said} of its tasks; fit three tasks or more"):
            getattr(model, name)
        assert not hasattr(model, name)


@pytest.mark.parametrize("kind", [MultiTaskClassifier, MultiTaskRegressor])
def test_intervals_are_about_the_maps_that_are_shown(kind: type[Estimator], quick_inference: None) -> None:
    tied = grouped(kind, tie_mixing=True)
    for there, here in zip(tied.beta_interval_, tied.alpha_interval_, strict=True):
        assert there.equals(here)
    without_z = grouped(kind, bayesian_z=False)
    assert hasattr(without_z, "alpha_interval_")
    assert not hasattr(without_z, "beta_interval_")
    without_w = grouped(kind, bayesian_w=False)
    assert hasattr(without_w, "beta_interval_")
    assert not hasattr(without_w, "alpha_interval_")
    assert not hasattr(without_w, "sharing_interval_")
