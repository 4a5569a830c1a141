"""The rows of a fit, in the forms that its steps need."""

from __future__ import annotations

from dataclasses import dataclass

from vmtl.data.duplicates import merge_duplicates
from vmtl.data.rows import Rows
from vmtl.data.stored.stored_rows import StoredRows
from vmtl.inference.features.feature_map import FeatureMap
from vmtl.inference.features.maps import apply_map


@dataclass(frozen=True)
class TrainingData:
    """Raw columns, or after ``through`` their features."""

    rows: Rows  # all of them, for gradient steps
    distinct: Rows  # duplicates merged into their weights: no row may help to predict its own copy when left out; of a
    # folder, where none is left out, they count one by one
    held_out: Rows | None = None  # kept from training, for early stopping

    @classmethod
    def of(cls, rows: Rows, held_out: Rows | None = None) -> TrainingData:
        return cls(rows, rows if isinstance(rows, StoredRows) else merge_duplicates(rows), held_out)

    def through(self, feature_map: FeatureMap) -> TrainingData:
        """The same rows with their features as columns."""
        held_out = None if self.held_out is None else apply_map(feature_map, self.held_out)
        rows = apply_map(feature_map, self.rows)
        distinct = rows if self.distinct is self.rows else apply_map(feature_map, self.distinct)
        return TrainingData(rows, distinct, held_out)
