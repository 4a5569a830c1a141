"""Three small tasks of three classes, and a classifier that is fitted to them in a moment."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.toys import toy
from vmtl import MultiTaskClassifier

DATA = toy([8, 9, 7], classes=3)
X, Y, TASKS = DATA.X, DATA.y, np.array(["north", "south", "west"])[DATA.task]


def small(**options: Any) -> MultiTaskClassifier:
    return MultiTaskClassifier(**{"random_state": 0, **options})


def spoiled(value: float, column: int = 3) -> np.ndarray:
    """X with one bad number."""
    bad = X.copy()
    bad[4, column] = value
    return bad
