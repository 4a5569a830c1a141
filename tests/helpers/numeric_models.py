"""Models of numbers alone, with gaps, as an export takes them."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from helpers.tables import make_table
from vmtl import MultiTaskClassifier, MultiTaskRegressor

NUMBERS = ["age", "dose", "bmi"]


@dataclass(frozen=True)
class Numeric:
    """A fitted model, and rows that it has not seen."""

    model: MultiTaskClassifier | MultiTaskRegressor
    X: pd.DataFrame
    tasks: pd.Series


def fit_numeric(kind: type, target: str, **options: object) -> Numeric:
    train, new = make_table(90, 0), make_table(70, 1)
    model = kind(missing="impute", max_steps=15, random_state=0, **options)
    model.fit(train[NUMBERS], train[target], tasks=train["site"])
    return Numeric(model, new[NUMBERS], new["site"])
