"""What a fit has learned, as tables with the names of the tasks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from helpers.toys import toy
from vmtl import MultiTaskClassifier

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
    assert len(history) == history["step"].nunique() * 3
    assert history["step"].max() == 6


def test_tasks_may_be_tuples() -> None:
    labels = np.empty(len(DATA.task), dtype=object)
    labels[:] = [("ward", int(t)) for t in DATA.task]
    model = MultiTaskClassifier("vmtl", encoder="linear", latent_dim=4, max_steps=2).fit(DATA.X, DATA.y, tasks=labels)
    assert list(model.alpha_.index) == [("ward", 0), ("ward", 1), ("ward", 2)]
