"""Labelled blocks of a folder as training rows, by what was learned from all of them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vmtl.data.rows import Rows
from vmtl.estimators.inputs.row_reading import read_rows
from vmtl.estimators.inputs.target_encoding import TargetEncoder
from vmtl.estimators.inputs.training_rows import make_rows

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class FolderReader:
    """What a worker needs to read blocks as the estimator would."""

    estimator: Any  # with what it has learned of the columns, not fitted
    task: str
    target: str
    features: tuple[str, ...]
    places: dict[Hashable, int]  # the number of each task
    encoder: TargetEncoder

    def __call__(self, frame: pd.DataFrame, first: int) -> Rows:
        x, labels = read_rows(self.estimator, frame[list(self.features)], frame[self.task])
        codes = np.array([self.places[label] for label in labels], dtype=np.int64)
        y, weight = self.encoder.encode(frame[self.target], np.ones(len(x)))
        return make_rows(x, y, codes, weight, len(self.places), self.encoder)
