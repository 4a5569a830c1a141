"""What a fitted estimator shows of what was inferred, before and after a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from helpers.toys import toy
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl.inference.hyperparameters import Hyperparameters

DATA = toy([9, 8, 10], classes=3)
OLD = Path(__file__).parents[1] / "reliability" / "models-0.1.0"


@pytest.mark.parametrize(("method", "strategy"), [("vmtl", "exact"), ("bakker", "warm start"), ("bmtl", "variational")])
def test_hyperparameters_survive_a_file(method: str, strategy: str, tmp_path: Path) -> None:
    model = MultiTaskClassifier(method, max_steps=2, random_state=0).fit(DATA.X, DATA.y, tasks=DATA.task)
    before = model.hyperparameters_
    model.save(tmp_path / "model.vmtl")
    after = MultiTaskClassifier.load(tmp_path / "model.vmtl").hyperparameters_
    assert before.strategy == strategy
    assert isinstance(after, Hyperparameters)
    assert replace(after, structure=None) == replace(before, structure=None)
    assert (before.structure is None) == (method != "vmtl")
    for name, tensor in before.to_tensors().items():
        assert torch.equal(getattr(after.structure, name), tensor)


def test_an_estimator_that_is_not_fitted_has_none() -> None:
    with pytest.raises(AttributeError):
        _ = MultiTaskClassifier().hyperparameters_


@pytest.mark.parametrize(("name", "has_kernel"), [("classifier", True), ("regressor", True), ("table", False)])
def test_files_of_the_first_version_show_what_can_be_known(name: str, has_kernel: bool) -> None:
    kind = MultiTaskRegressor if name == "regressor" else MultiTaskClassifier
    model = kind.load(OLD / f"{name}.vmtl")
    known = model.hyperparameters_
    assert known.strategy is None
    assert known.logit_scale == float(model._fitted.model.logit_scale)
    assert known.learning_rate_factor is not None
    assert 0 < known.learning_rate_factor <= 1
    assert (known.kernel_shares is not None) == has_kernel
    if known.kernel_shares is not None:
        assert sum(known.kernel_shares.values()) == pytest.approx(1)
