"""A wrong parameter is named by a ValueError."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers.reliable import Toy
from vmtl import MultiTaskClassifier, MultiTaskRegressor, VMTLClassifier, VMTLRegressor

#: Of all estimators.
COMMON: dict[str, dict[str, Any]] = {
    "unknown_task": {"unknown_task": "none"},
    "missing": {"missing": "none"},
    "n_threads": {"n_threads": 0},
    "n_threads as text": {"n_threads": "two"},
    "task_column": {"task_column": "none"},
    "random_state": {"random_state": "seed"},
}
PAPER: dict[str, dict[str, Any]] = {
    "method": {"method": "none"},
    "preset": {"preset": "none"},
    "encoder": {"encoder": "none"},
    "latent_dim": {"latent_dim": 0},
    "latent_dim as text": {"latent_dim": "3"},
    "sharing": {"sharing": 1.5},
    "sharing NaN": {"sharing": np.nan},
    "kl_form": {"kl_form": "none"},
    "mixing": {"mixing": "none"},
    "n_z": {"n_z": -1},
    "max_steps": {"max_steps": 2.5},
    "batch_rows": {"batch_rows": -1},
    "batch_rows as a fraction": {"batch_rows": 0.5},
    "learning_rate": {"learning_rate": 0},
    "learning_rate as text": {"learning_rate": "fast"},
    "predictive": {"predictive": "none"},
    "dtype": {"dtype": "float16"},
    "device": {"device": "nowhere"},
}


def check_parameter(kind: Any, parameter: dict[str, Any], y: Any, toy: Toy) -> None:
    """A wrong parameter is named by a ValueError."""
    with pytest.raises(ValueError, match=next(iter(parameter)).split("_")[0]):
        kind(**{"random_state": 0, **parameter}).fit(toy.X, y)


@pytest.mark.parametrize("name", [*COMMON, "relatedness"])
def test_parameters(name: str, toy: Toy) -> None:
    parameter = COMMON.get(name, {name: "none"})
    check_parameter(MultiTaskClassifier, parameter, toy.labels, toy)
    check_parameter(MultiTaskRegressor, parameter, toy.values, toy)


@pytest.mark.parametrize("name", [*COMMON, *PAPER])
def test_parameters_of_the_paper(name: str, toy: Toy) -> None:
    parameter = {**COMMON, **PAPER}[name]
    check_parameter(VMTLClassifier, parameter, toy.labels, toy)
    check_parameter(VMTLRegressor, parameter, toy.values, toy)


@pytest.mark.parametrize("weight", ["even", {"no": 1.0}, {"low": -1.0}], ids=str)
@pytest.mark.parametrize("kind", [MultiTaskClassifier, VMTLClassifier])
def test_class_weight(kind: Any, weight: Any, toy: Toy) -> None:
    check_parameter(kind, {"class_weight": weight}, toy.labels, toy)
