"""A fitted estimator as JSON and tensors: what is written is all that is needed, and nonsense is one sentence."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

from helpers.small_fits import TASKS, X, Y, small
from vmtl import MultiTaskClassifier
from vmtl._utils.tensor_files import ModelFileError
from vmtl.estimators.model_file import describe, label_to_json, rebuild


@pytest.fixture(scope="module")
def model() -> MultiTaskClassifier:
    weights = {0: 1.0, 1: 2.0, 2: 0.5}
    return small(method="bmtl", encoder="linear", class_weight=weights).fit(X, Y, tasks=TASKS)


def test_what_is_described_predicts_the_same_after_json(model: MultiTaskClassifier) -> None:
    payload, tensors = describe(model)
    again = rebuild(MultiTaskClassifier, json.loads(json.dumps(payload)), tensors, "a file")
    np.testing.assert_array_equal(again.predict_proba(X, tasks=TASKS), model.predict_proba(X, tasks=TASKS))
    assert again.get_params() == model.get_params()


@pytest.mark.parametrize(
    ("key", "value"),
    [("tasks", ["north"]), ("classes", [0, 1]), ("n_features_in", 5), ("settings", {}), ("seed", "none")],
)
def test_parts_that_do_not_fit_are_refused(model: MultiTaskClassifier, key: str, value: object) -> None:
    payload: dict[str, Any]
    payload, tensors = describe(model)
    payload = {**copy.deepcopy(payload), key: value}
    with pytest.raises(ModelFileError, match=r"a file does not describe a MultiTaskClassifier \(.*\); save it again"):
        rebuild(MultiTaskClassifier, payload, tensors, "a file")


def test_labels_are_text_or_numbers() -> None:
    assert label_to_json(np.int64(3)) == 3
    assert label_to_json("a") == "a"
    with pytest.raises(ValueError, match=r"labels that are text or numbers; \(1, 2\) is tuple"):
        label_to_json((1, 2))
