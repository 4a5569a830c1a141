"""A fitted estimator as JSON and tensors: what is written is all that is needed, and nonsense is one sentence."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import vmtl
from helpers.small_fits import TASKS, X, Y, small
from vmtl import MultiTaskClassifier
from vmtl._utils import tensor_files
from vmtl._utils.tensor_files import ModelFileError
from vmtl.estimators.model_file import describe, label_to_json, rebuild


@pytest.fixture(scope="module")
def model() -> MultiTaskClassifier:
    return small(class_weight={0: 1.0, 1: 2.0, 2: 0.5}).fit(X, Y, tasks=TASKS)


def test_what_is_described_predicts_the_same_after_json(model: MultiTaskClassifier) -> None:
    payload, tensors = describe(model)
    again = rebuild(json.loads(json.dumps(payload)), tensors, "a file")
    np.testing.assert_array_equal(again.predict_proba(X, tasks=TASKS), model.predict_proba(X, tasks=TASKS))
    assert again.get_params() == model.get_params()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tasks", ["north"]),
        ("target", {"mean": 0.0, "scale": 1.0}),
        ("n_features_in", 5),
        ("fitted", {}),
        ("seed", "none"),
        ("parameters", {"random_state": 0, "method": "vmtl"}),
    ],
)
def test_parts_that_do_not_fit_are_refused(model: MultiTaskClassifier, key: str, value: object) -> None:
    payload: dict[str, Any]
    payload, tensors = describe(model)
    payload = {**copy.deepcopy(payload), key: value}
    with pytest.raises(ModelFileError, match=r"a file does not describe a MultiTaskClassifier \(.*\); save it again"):
        rebuild(payload, tensors, "a file")


def test_labels_are_text_or_numbers() -> None:
    assert label_to_json(np.int64(3)) == 3
    assert label_to_json("a") == "a"
    with pytest.raises(ValueError, match=r"labels that are text or numbers; \(1, 2\) is tuple"):
        label_to_json((1, 2))


def test_a_file_of_something_else_is_refused(model: MultiTaskClassifier) -> None:
    payload, tensors = describe(model)
    for name in ("Forest", 7, None):
        with pytest.raises(ModelFileError, match="a file holds no estimator that this vmtl knows"):
            rebuild({**payload, "estimator": name}, tensors, "a file")


def test_a_file_of_an_earlier_version_is_one_sentence(
    model: MultiTaskClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(tensor_files, "FORMAT_VERSION", 2)
        model.save(tmp_path / "m.vmtl")
    with pytest.raises(ModelFileError, match=r"was written by an earlier vmtl, whose files are not read any more; fit"):
        vmtl.load(tmp_path / "m.vmtl")


def test_parameters_metadata_and_predictions_come_back(model: MultiTaskClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "m", metadata={"site": "north"})
    loaded = vmtl.load(tmp_path / "m")
    assert loaded.get_params() == model.get_params()
    assert loaded.metadata_ == {"site": "north"}
    np.testing.assert_array_equal(loaded.predict_proba(X, tasks=TASKS), model.predict_proba(X, tasks=TASKS))
    loaded.save(tmp_path / "again")
    assert vmtl.load(tmp_path / "again").metadata_ == {"site": "north"}


def test_only_a_fitted_model_is_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        MultiTaskClassifier().save(tmp_path / "m")
    assert not list(tmp_path.iterdir())
