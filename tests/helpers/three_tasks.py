"""Three tasks that the tests of the estimators share: four classes, or real targets in the unit of a user."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.toys import toy
from vmtl import MultiTaskClassifier, MultiTaskRegressor, VMTLClassifier, VMTLRegressor

DATA = toy([16, 20, 12], classes=4, features=6, spread=0.7)
X, Y, TASK = DATA.X, np.array(["ant", "bee", "cat", "dog"])[DATA.y], np.array(["north", "south", "west"])[DATA.task]
REAL = toy([16, 20, 12], features=6)
UNIT = 1000.0 + 50.0 * REAL.y
#: A small network, a few steps.
SMALL: dict[str, Any] = {"encoder": "linear", "latent_dim": 5, "max_steps": 5, "random_state": 0}


def classifier(**options: Any) -> MultiTaskClassifier:
    """The default."""
    return MultiTaskClassifier(**{"random_state": 0, **options})


def regressor(**options: Any) -> MultiTaskRegressor:
    """The default."""
    return MultiTaskRegressor(**{"random_state": 0, **options})


def paper_classifier(**options: Any) -> VMTLClassifier:
    """The paper's system, small."""
    return VMTLClassifier(**{**SMALL, **options})


def paper_regressor(**options: Any) -> VMTLRegressor:
    """The paper's system, small."""
    return VMTLRegressor(**{**SMALL, **options})
