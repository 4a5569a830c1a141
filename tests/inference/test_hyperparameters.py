"""Hyperparameters: to a file and back, and nothing else."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace

import pytest
import torch

from vmtl.inference.exact.task_similarity import uniform_similarity
from vmtl.inference.exact.task_structure import structure_of
from vmtl.inference.hyperparameters import Hyperparameters

FULL = Hyperparameters(
    strategy="exact",
    kernel_shares={"linear(raw)": 0.75, "gauss(raw, 1)": 0.25},
    standardise=False,
    correlation=0.8,
    scale=3.0,
    bias=0.3,
    logit_scale=1.5,
    width_factor=0.6,
    learning_rate_factor=1.0,
    structure=structure_of(uniform_similarity(3), 0.8),
)


@pytest.mark.parametrize("given", [FULL, replace(FULL, structure=None), Hyperparameters()])
def test_they_survive_a_file(given: Hyperparameters) -> None:
    numbers = json.loads(json.dumps(given.to_json()))
    again = Hyperparameters.from_file(numbers, given.to_tensors(), 3)
    assert replace(again, structure=None) == replace(given, structure=None)
    assert (again.structure is None) == (given.structure is None)
    for name, tensor in given.to_tensors().items():
        assert torch.equal(getattr(again.structure, name), tensor)


def test_names_of_later_versions_are_ignored_and_wrong_shapes_refused() -> None:
    numbers = {**FULL.to_json(), "positions": [1, 2]}
    assert Hyperparameters.from_file(numbers, {}, 3) == replace(FULL, structure=None)
    for broken in ({"alpha": torch.zeros(3)}, {"covariance": torch.zeros(2, 2)}, {"sharing": torch.zeros(())}):
        with pytest.raises(ValueError, match="structure does not have"):
            Hyperparameters.from_file(numbers, {**FULL.to_tensors(), **broken}, 3)


def test_they_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        FULL.scale = 2.0  # type: ignore[misc]
