"""Gradient steps on everything: where they begin, and that the paper's presets begin where the paper does."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from helpers.toys import toy
from vmtl.config.presets import PRESETS
from vmtl.inference.features.kernel_selection import ASSUMED
from vmtl.inference.fitted import Fitted
from vmtl.inference.recipes import variational
from vmtl.inference.recipes.variational import MAX_TRAINED_SCALE, learning_rate_factor, trainable_scale
from vmtl.inference.strategy import fit
from vmtl.methods import METHODS

CLASSES = toy([8, 9, 7], classes=3)


def fitted(method: str, preset: str = "default", classes: int = 3, **options: Any) -> Fitted:
    rows = (CLASSES if classes else toy([8, 9, 7])).rows()
    return fit(METHODS[method], PRESETS[preset].with_options(**{"max_steps": 2, **options}), rows, 0)


@pytest.mark.parametrize("preset", ["paper", "released"])
def test_the_papers_presets_infer_nothing_first(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a kernel nor a scale nor a rate: all are given."""

    def refuse(*arguments: object) -> float:
        raise AssertionError("a number that the paper does not use")

    monkeypatch.setattr(variational, "learning_rate_factor", refuse)
    result = fitted("vmtl", preset)
    inferred = result.hyperparameters
    assert (inferred.logit_scale, inferred.learning_rate_factor) == (1.0, 1.0)
    for name in ("kernel_shares", "standardise", "correlation", "scale", "unit", "task_level", "noise", "structure"):
        assert getattr(inferred, name) is None
    assert result.history.lr[0] == 1e-4
    assert result.model.sharing().tolist() == [1.0] * 3


def test_steps_of_large_outputs_are_smaller() -> None:
    assert learning_rate_factor(2.0) == 1
    assert learning_rate_factor(ASSUMED.scale) == 1
    assert learning_rate_factor(4 * ASSUMED.scale) == 0.25
    assert trainable_scale(40.0, is_classification=True) == MAX_TRAINED_SCALE
    assert trainable_scale(40.0, is_classification=False) == 40.0


def test_a_method_without_an_exact_model_begins_at_the_scale_that_was_selected() -> None:
    short, long = (fitted("vmtl", sharing=0.5, max_steps=steps) for steps in (1, 2))
    assert not torch.equal(short.model.head.mean, long.model.head.mean)
    inferred = long.hyperparameters
    assert inferred.strategy == "variational"
    assert inferred.scale is not None
    assert inferred.scale <= MAX_TRAINED_SCALE
    assert inferred.unit is not None
    assert inferred.logit_scale == pytest.approx(inferred.scale / inferred.unit)
    assert inferred.width_factor is None


def test_a_point_estimate_of_w_has_no_prior_whose_scale_could_be_selected() -> None:
    inferred = fitted("bmtl", ridge=False).hyperparameters
    assert inferred.logit_scale == pytest.approx(ASSUMED.scale)
    assert inferred.kernel_shares is not None
    assert inferred.structure is None


def test_the_noise_begins_at_what_was_selected() -> None:
    inferred = fitted("bmtl", classes=0, ridge=False).hyperparameters
    assert inferred.noise != ASSUMED.noise
    assert fitted("bmtl", classes=0, encoder="linear", ridge=False).hyperparameters.noise == ASSUMED.noise
