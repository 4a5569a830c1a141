"""Models that targets load and ask: fitted in a moment, with columns of numbers and of text."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from vmtl import MultiTaskClassifier, MultiTaskRegressor


def _rows() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    table = {"age": rng.normal(60, 9, 24), "dose": rng.normal(size=24).round(2), "ward": rng.choice(["a", "b"], 24)}
    return pd.DataFrame(table), np.array(["north", "south"])[np.arange(24) % 2]


@cache
def fitted_classifier() -> MultiTaskClassifier:
    X, tasks = _rows()
    model = MultiTaskClassifier(forest=False, missing="impute", random_state=0)
    return model.fit(X, np.where(X["age"] > 60, "yes", "no"), tasks=tasks)


@cache
def fitted_forest() -> MultiTaskClassifier:
    X, tasks = _rows()
    return MultiTaskClassifier(random_state=0).fit(X[["age", "dose"]].to_numpy(), X["dose"] > 0, tasks=tasks)


@cache
def fitted_regressor() -> MultiTaskRegressor:
    X, tasks = _rows()
    return MultiTaskRegressor(random_state=0).fit(X[["age", "dose"]], X["age"] + X["dose"], tasks=tasks)
