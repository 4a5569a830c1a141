"""Models of numbers alone, with gaps, as an export takes them."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from sklearn.base import RegressorMixin

from helpers.tables import make_table
from vmtl.estimators import MultiTaskClassifier, MultiTaskRegressor, VMTLClassifier, VMTLRegressor

NUMBERS = ["age", "dose", "bmi"]


@dataclass(frozen=True)
class Numeric:
    """A fitted model, and rows that it has not seen."""

    model: MultiTaskClassifier | MultiTaskRegressor | VMTLClassifier | VMTLRegressor
    X: pd.DataFrame
    tasks: pd.Series


def fit_numeric(kind: type, **options: object) -> Numeric:
    """Of classes or values, by the kind of estimator."""
    train, new = make_table(90, 0), make_table(70, 1)
    model = kind(missing="impute", random_state=0, **options)
    target = "days" if isinstance(model, RegressorMixin) else "outcome"
    model.fit(train[NUMBERS], train[target], tasks=train["site"])
    return Numeric(model, new[NUMBERS], new["site"])
