"""Settings: plain data that checks itself, describes itself and survives JSON."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from typing import Any

import pytest

from vmtl.paper.presets import PRESETS
from vmtl.paper.settings import Settings


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"sharing": 1.1}, "sharing must be between 0 and 1; got 1.1"),
        ({"dropout": 1.0}, "dropout must be between 0 and 0.999"),
        ({"latent_dim": 0}, "latent_dim must be a positive integer; got 0"),
        ({"n_z": 1.5}, "n_z must be a positive integer; got 1.5"),
        ({"batch_rows": -1}, "batch_rows must be a positive integer, or 0 for all rows"),
        ({"initial_w_scale": 0.0}, "initial_w_scale must be positive"),
        ({"weight_decay": -1.0}, "weight_decay must not be negative"),
        ({"weight_decay": float("nan")}, "weight_decay must not be negative"),
        ({"kl_form": "exact"}, "kl_form must be one of 'bound', 'monte-carlo', .*; got 'exact'"),
        ({"task_weight": "classes"}, "task_weight must be one of 'tasks', 'rows'"),
        ({"tau": ("steps", 1.0)}, "tau must be a schedule, one of constant, linear"),
    ],
)
def test_what_means_nothing_is_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Settings(**options)


@pytest.mark.parametrize("preset", PRESETS)
def test_json_and_back(preset: str) -> None:
    settings = PRESETS[preset]
    stored = json.loads(json.dumps(settings.to_json()))
    assert Settings.from_json(stored) == settings
    with pytest.raises(TypeError, match="unknown_name"):
        Settings.from_json({**stored, "unknown_name": 1})


def test_options_that_are_none_leave_things_as_they_are() -> None:
    settings = Settings(max_steps=7)
    assert settings.with_options(max_steps=None, latent_dim=3) == Settings(max_steps=7, latent_dim=3)


def test_every_setting_is_described() -> None:
    text = Settings.__doc__ or ""
    described = {
        name for line in re.findall(r"^    (\w+(?:, \w+)*) : ", text, re.MULTILINE) for name in line.split(", ")
    }
    assert described == {field.name for field in fields(Settings)}
