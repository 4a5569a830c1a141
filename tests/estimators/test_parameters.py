"""The one constructor: it stores, ``settings`` and ``fit`` check."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from vmtl import PRESETS, MultiTaskClassifier, MultiTaskRegressor
from vmtl.config.settings import Settings
from vmtl.estimators.parameters import OPTIONS, Parameters


@pytest.mark.parametrize("estimator", [MultiTaskClassifier, MultiTaskRegressor])
def test_the_constructor_stores_what_it_is_given_unchanged(estimator: type) -> None:
    value: Any = object()
    for parameter in fields(Parameters):
        assert getattr(estimator(**{parameter.name: value}), parameter.name) is value


def test_options_are_settings_of_the_same_name() -> None:
    assert set(OPTIONS) <= {field.name for field in fields(Settings)}
    assert set(OPTIONS) <= {field.name for field in fields(Parameters)}


@pytest.mark.parametrize("preset", PRESETS)
def test_none_keeps_the_preset(preset: str) -> None:
    assert MultiTaskRegressor(preset=preset).settings() == PRESETS[preset]


def test_draws_are_for_training_and_prediction_and_a_rate_keeps_its_schedule() -> None:
    settings = MultiTaskClassifier(preset="paper", n_z=3, n_w=5, learning_rate=0.5, sharing=0.5).settings()
    assert settings.sharing == 0.5
    assert (settings.n_z, settings.predict_z, settings.n_w, settings.predict_w) == (3, 3, 5, 5)
    name, _, *rest = PRESETS["paper"].learning_rate
    assert settings.learning_rate == (name, 0.5, *rest)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"unknown_task": "guess"}, "unknown_task must be one of 'error', 'average', 'similar'; got 'guess'"),
        ({"dtype": "float16"}, "dtype must be one of 'float32', 'float64'; got 'float16'"),
        ({"n_threads": 0}, "n_threads must be a positive integer or None"),
        ({"task_column": ["a"]}, "task_column must be the name of a column"),
        ({"device": "nowhere"}, "set device='cpu'"),
    ],
)
def test_what_is_no_setting_is_checked_too(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        MultiTaskClassifier(**given)._check_parameters()
