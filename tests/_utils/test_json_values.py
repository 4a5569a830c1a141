"""Values as JSON can hold them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from vmtl._utils.json_values import to_json


def test_numpy_values_become_pythons_and_what_is_not_finite_none() -> None:
    value = {1: np.float32(0.5), "a": (np.int64(2), [np.bool_(True)]), "b": np.array([[1.0, np.nan]]), "c": math.inf}
    assert to_json(value) == {"1": 0.5, "a": [2, [True]], "b": [[1.0, None]], "c": None}


@pytest.mark.parametrize("value", [None, True, 3, 0.25, "text"])
def test_what_json_has_stays(value: object) -> None:
    assert to_json(value) is value


def test_the_result_is_strict_json() -> None:
    assert json.loads(json.dumps(to_json({"x": [math.nan, np.arange(2)]}), allow_nan=False)) == {"x": [None, [0, 1]]}
