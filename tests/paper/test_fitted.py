"""A fitted model: complete or an error, to tensors and back, and what old files still show."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from helpers.toys import toy
from vmtl.config.presets import PRESETS
from vmtl.inference.fitted import Fitted, from_file, recover_hyperparameters
from vmtl.inference.hyperparameters import Hyperparameters
from vmtl.inference.strategy import fit
from vmtl.inference.variational.training import DivergenceError
from vmtl.methods import METHODS

ROWS = toy([8, 9, 7], classes=3).rows(torch.float32)


def fitted(method: str = "vmtl", **options: Any) -> Fitted:
    return fit(METHODS[method], PRESETS["default"].with_options(max_steps=3, **options), ROWS, 0)


@pytest.mark.parametrize(("method", "options"), [("vmtl", {}), ("vstl", {}), ("bmtl", {"encoder": "linear"})])
def test_everything_survives_a_file(method: str, options: dict[str, Any]) -> None:
    before = fitted(method, **options)
    tensors = before.to_tensors()
    after = from_file(METHODS[method], before.model.settings, True, before.to_json(), tensors)
    again = after.to_tensors()
    assert again.keys() == tensors.keys()
    assert all(torch.equal(again[name], tensor) for name, tensor in tensors.items())
    assert after.to_json() == before.to_json()


@pytest.mark.parametrize(("method", "options"), [("vmtl", {}), ("vstl", {}), ("bmtl", {"encoder": "linear"})])
def test_what_a_model_shows_of_its_hyperparameters_is_right(method: str, options: dict[str, Any]) -> None:
    """As files of 0.1.0 need it, which have none."""
    before = fitted(method, **options)
    recovered, known = recover_hyperparameters(before.feature_map, before.model, before.history), before.hyperparameters
    assert recovered.logit_scale == known.logit_scale
    assert recovered.learning_rate_factor == pytest.approx(known.learning_rate_factor)
    assert recovered.standardise == known.standardise
    assert recovered.kernel_shares == (known.kernel_shares and pytest.approx(known.kernel_shares, abs=1e-4))
    without = {name: tensor for name, tensor in before.to_tensors().items() if not name.startswith("structure.")}
    numbers = {"history": before.to_json()["history"]}
    assert from_file(METHODS[method], before.model.settings, True, numbers, without).hyperparameters == recovered


def test_a_model_with_a_broken_weight_is_no_result() -> None:
    whole = fitted()
    whole.model.head.mean[1, 0, 0] = torch.nan
    with pytest.raises(DivergenceError, match=r"step 3: the weight head\.mean of task 1"):
        Fitted.complete(whole.feature_map, whole.model, whole.history, Hyperparameters())


def test_a_history_of_another_length_is_refused() -> None:
    before = fitted()
    numbers = before.to_json()
    numbers["history"] = {**numbers["history"], "step": [1]}
    with pytest.raises(ValueError, match="one row per recorded step"):
        from_file(METHODS["vmtl"], before.model.settings, True, numbers, before.to_tensors())
    tensors = replace_rows(before.to_tensors())
    with pytest.raises(ValueError, match="task_rows"):
        from_file(METHODS["vmtl"], before.model.settings, True, before.to_json(), tensors)


def replace_rows(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {**tensors, "model.task_rows": torch.ones(5)}
