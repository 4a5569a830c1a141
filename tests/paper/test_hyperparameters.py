"""Hyperparameters: to a file and back, and nothing else."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace

import pytest
import torch

from vmtl.inference.hyperparameters import Hyperparameters
from vmtl.inference.structure.covariance import DenseCovariance, LowRankCovariance
from vmtl.inference.structure.mixing_weights import structure_of
from vmtl.results.relatedness import MAX_TASKS

BETWEEN = torch.tensor([[1, 0.5, 0.3], [0.5, 1, 0.6], [0.3, 0.6, 1]], dtype=torch.float64)
STRUCTURE = replace(
    structure_of(DenseCovariance(BETWEEN)),
    beta=torch.full((3, 3), 0.5),
    positions=torch.zeros(3, 0),
    alpha_interval=torch.zeros(2, 3, 3),
    beta_interval=torch.zeros(2, 3, 3),
    sharing_interval=torch.zeros(2, 3),
)
FULL = Hyperparameters(
    strategy="exact",
    kernel_shares={"linear(raw)": 0.75, "gauss(raw, 1)": 0.25},
    standardise=False,
    correlation=0.8,
    scale=3.0,
    unit=1.8,
    task_level=0.3,
    logit_scale=1.5,
    width_factor=0.6,
    learning_rate_factor=1.0,
    structure=STRUCTURE,
)


@pytest.mark.parametrize(
    "given",
    [
        FULL,
        replace(FULL, structure=structure_of(DenseCovariance(BETWEEN))),
        replace(FULL, structure=None),
        Hyperparameters(),
    ],
)
def test_they_survive_a_file(given: Hyperparameters) -> None:
    numbers = json.loads(json.dumps(given.to_json()))
    again = Hyperparameters.from_file(numbers, given.to_tensors(), 3)
    assert replace(again, structure=None) == replace(given, structure=None)
    assert (again.structure is None) == (given.structure is None)
    for name, tensor in given.to_tensors().items():
        assert torch.equal(getattr(again.structure, name), tensor)


def test_names_of_later_versions_are_ignored() -> None:
    numbers, tensors = {**FULL.to_json(), "colour": [1, 2]}, {**FULL.to_tensors(), "colour": torch.zeros(7)}
    assert Hyperparameters.from_file(numbers, {}, 3) == replace(FULL, structure=None)
    assert Hyperparameters.from_file(numbers, tensors, 3).to_tensors().keys() == FULL.to_tensors().keys()


@pytest.mark.parametrize("name", FULL.to_tensors())
def test_wrong_shapes_are_refused(name: str) -> None:
    right = FULL.to_tensors()[name]
    for broken in (torch.zeros(()), right[:-1], right[None], torch.zeros(4, 4), torch.zeros(2, 2, 3)):
        with pytest.raises(ValueError, match=f"^{name} of the structure does not have one number per task$"):
            Hyperparameters.from_file({}, {**FULL.to_tensors(), name: broken}, 3)


@pytest.mark.parametrize("name", ["alpha", "sharing", "variance", "covariance"])
def test_a_structure_without_its_parts_is_refused(name: str) -> None:
    tensors = {key: value for key, value in FULL.to_tensors().items() if key != name}
    with pytest.raises(ValueError, match=f"^the structure has no {name}$"):
        Hyperparameters.from_file({}, tensors, 3)


def test_of_thousands_of_tasks_there_is_no_table() -> None:
    """Neither alpha nor B; what each task has of its own is there, and a factor of B."""
    n_tasks = MAX_TASKS + 1
    given = Hyperparameters(structure=structure_of(LowRankCovariance(torch.full((n_tasks, 1), 0.5))))
    assert given.to_tensors().keys() == {"sharing", "variance", "factor"}
    again = Hyperparameters.from_file({}, given.to_tensors(), n_tasks)
    assert again.structure is not None
    assert again.structure.alpha is again.structure.covariance is None
    assert given.structure is not None
    assert torch.equal(again.structure.factor, given.structure.factor)
    with pytest.raises(ValueError, match=r"^factor of the structure does not have one number per task$"):
        Hyperparameters.from_file({}, {**given.to_tensors(), "factor": torch.zeros(3, 1)}, n_tasks)
    with pytest.raises(ValueError, match=r"^the structure has no variance$"):
        Hyperparameters.from_file({}, {"sharing": given.to_tensors()["sharing"]}, n_tasks)


def test_they_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        FULL.scale = 2.0  # type: ignore[misc]
