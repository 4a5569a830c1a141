"""A wrong parameter is named by a ValueError."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers.bad_inputs import OPTIONS
from helpers.reliable import Toy
from vmtl import MultiTaskClassifier, MultiTaskRegressor

pytestmark = pytest.mark.usefixtures("inference")


PARAMETER_CASES: dict[str, dict[str, Any]] = {
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
    "unknown_task": {"unknown_task": "none"},
    "missing": {"missing": "none"},
    "dtype": {"dtype": "float16"},
    "device": {"device": "nowhere"},
    "n_threads": {"n_threads": 0},
    "n_threads as text": {"n_threads": "two"},
    "task_column": {"task_column": "none"},
    "random_state": {"random_state": "seed"},
}


@pytest.mark.parametrize("kind", [MultiTaskClassifier, MultiTaskRegressor])
@pytest.mark.parametrize("name", PARAMETER_CASES)
def test_parameters(name: str, kind: Any, toy: Toy) -> None:
    """A wrong parameter is named by a ValueError."""
    with pytest.raises(ValueError, match=next(iter(PARAMETER_CASES[name])).split("_")[0]):
        kind(**{**OPTIONS, **PARAMETER_CASES[name]}).fit(
            toy.X, toy.labels if kind is MultiTaskClassifier else toy.values
        )
