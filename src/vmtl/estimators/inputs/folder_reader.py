"""Labelled blocks of a folder as training rows, by what was learned from all of them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vmtl.data.rows import Rows
from vmtl.estimators.inputs.validation import InputValidationMixin

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class FolderReader:
    """What a worker needs to read blocks as the estimator would."""

    estimator: InputValidationMixin  # with what it has learned of columns and targets, not fitted
    task: str
    target: str
    features: tuple[str, ...]
    places: dict[Hashable, int]  # the number of each task

    def __call__(self, frame: pd.DataFrame, first: int) -> Rows:
        x, labels = self.estimator._features(frame[list(self.features)], frame[self.task], reset=False)
        codes = np.array([self.places[label] for label in labels], dtype=np.int64)
        y, weight, n_classes = self.estimator._encode_more(frame[self.target], np.ones(len(x)))
        return self.estimator._rows(x, y, codes, weight, len(self.places), n_classes)
