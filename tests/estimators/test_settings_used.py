"""``settings_`` is what was asked; ``hyperparameters_`` says where training departed from it, also after a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.reliable import make_toy
from vmtl import PRESETS, MultiTaskClassifier, MultiTaskRegressor

pytestmark = pytest.mark.usefixtures("quick_inference")


@pytest.mark.parametrize("kind", [MultiTaskClassifier, MultiTaskRegressor])
@pytest.mark.parametrize("method", ["vmtl", "bmtl", "bakker"])
@pytest.mark.parametrize("preset", PRESETS)
def test_what_was_asked_and_what_was_used(kind: Any, method: str, preset: str, tmp_path: Path) -> None:
    toy = make_toy(45)
    model = kind(method=method, preset=preset, latent_dim=4, max_steps=2, random_state=0)
    model.fit(toy.X, toy.labels if kind is MultiTaskClassifier else toy.values, tasks=toy.tasks)
    model.save(tmp_path / "m.vmtl")
    loaded = kind.load(tmp_path / "m.vmtl")
    for each in (model, loaded):
        asked, used = each.settings_, each.hyperparameters_
        assert asked == model.settings() == each._fitted.model.settings
        assert each.history_["lr"].iloc[0] == pytest.approx(asked.learning_rate[1] * (used.learning_rate_factor or 1))
        assert float(each._fitted.model.logit_scale) == pytest.approx(used.logit_scale)
    assert loaded.hyperparameters_.to_json() == model.hyperparameters_.to_json()
