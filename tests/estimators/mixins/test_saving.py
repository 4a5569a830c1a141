"""``save`` and ``load``; damaged and foreign files are tested in tests/reliability."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from helpers.toys import toy
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl._utils.tensor_files import ModelFileError

DATA = toy([8, 9, 7], classes=3)


@pytest.fixture(scope="module")
def model() -> MultiTaskClassifier:
    fitted = MultiTaskClassifier("bmtl", encoder="linear", max_steps=5, class_weight={0: 1.0, 1: 2.0, 2: 1.0})
    return fitted.fit(DATA.X, DATA.y, tasks=DATA.task)


def test_parameters_metadata_and_predictions_come_back(model: MultiTaskClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "m", metadata={"site": "north"})
    loaded = MultiTaskClassifier.load(tmp_path / "m")
    assert loaded.get_params() == model.get_params()
    assert loaded.metadata_ == {"site": "north"}
    np.testing.assert_array_equal(
        loaded.predict_proba(DATA.X, tasks=DATA.task), model.predict_proba(DATA.X, tasks=DATA.task)
    )


def test_metadata_stays_unless_it_is_replaced(model: MultiTaskClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "m", metadata={"site": "north"})
    loaded = MultiTaskClassifier.load(tmp_path / "m")
    loaded.save(tmp_path / "again")
    assert MultiTaskClassifier.load(tmp_path / "again").metadata_ == {"site": "north"}


def test_a_file_names_its_class(model: MultiTaskClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="holds a MultiTaskClassifier; load it with that class"):
        MultiTaskRegressor.load(tmp_path / "m")


def test_only_a_fitted_model_is_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        MultiTaskClassifier().save(tmp_path / "m")
    assert not list(tmp_path.iterdir())
