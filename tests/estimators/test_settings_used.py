"""``settings_`` is what the model was trained with, before and after a file; ``settings()`` is what was asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.reliable import make_toy
from vmtl import PRESETS, MultiTaskClassifier, MultiTaskRegressor


@pytest.mark.parametrize("kind", [MultiTaskClassifier, MultiTaskRegressor])
@pytest.mark.parametrize("method", ["vmtl", "bmtl", "bakker"])
@pytest.mark.parametrize("preset", PRESETS)
def test_settings_are_those_of_the_training(kind: Any, method: str, preset: str, tmp_path: Path) -> None:
    toy = make_toy(45)
    model = kind(method=method, preset=preset, latent_dim=4, max_steps=2, random_state=0)
    model.fit(toy.X, toy.labels if kind is MultiTaskClassifier else toy.values, tasks=toy.tasks)
    used = model.settings_
    assert used is model._fitted.model.settings
    assert used == model.settings()
    inferred = model.hyperparameters_
    assert model.history_["lr"].iloc[0] == pytest.approx(used.learning_rate[1] * inferred.learning_rate_factor)
    assert inferred.logit_scale == pytest.approx(float(model._fitted.model.logit_scale))
    model.save(tmp_path / "m.vmtl")
    loaded = kind.load(tmp_path / "m.vmtl")
    assert loaded.settings_ == used == loaded._fitted.model.settings
    assert loaded.settings() == model.settings()
    assert loaded.hyperparameters_.logit_scale == inferred.logit_scale


def test_a_scale_that_was_found_is_not_one_that_was_asked() -> None:
    """What was asked stays None; what was found is among the hyperparameters, before and after calibration."""
    toy = make_toy(45)
    model = MultiTaskClassifier(latent_dim=4, max_steps=2, random_state=0).fit(toy.X, toy.labels, tasks=toy.tasks)
    assert model.settings().logit_scale is model.settings_.logit_scale is None
    inferred = model.hyperparameters_
    before = inferred.scale * inferred.bias**0.5
    assert 0.5 < inferred.logit_scale / before < 2.0
