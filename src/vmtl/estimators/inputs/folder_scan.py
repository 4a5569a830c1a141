"""The first look at a folder of labelled rows: its tasks, its targets and, where it is needed, its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from vmtl._utils.types import Array
from vmtl.data.table_summary import ColumnSummary, TableSummary
from vmtl.estimators.inputs.task_labels import task_values

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Scan:
    """What some rows hold: as a sum, so that blocks add up."""

    tasks: Counter[Hashable]  # rows of each
    classes: Counter[Any]  # rows of each; of a regression none
    values: ColumnSummary  # of a regression's targets
    table: TableSummary  # of columns that must be encoded, else of none

    def __add__(self, other: Scan) -> Scan:
        return Scan(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    @property
    def label_type(self) -> type | None:
        """Of an array of classes: text is an object."""
        return object if any(isinstance(label, str) for label in self.classes) else None

    @property
    def labels(self) -> Array:
        """(C,) the classes, sorted."""
        return np.array(sorted(self.classes), dtype=self.label_type)

    @property
    def counts(self) -> Array:
        """(C,) rows of each of them."""
        return np.array([self.classes[label] for label in sorted(self.classes)])


@dataclass(frozen=True)
class ScanOfBlock:
    """What is looked at."""

    task: str
    target: str
    encoded: tuple[str, ...]  # feature columns, where they are no plain numbers
    is_classification: bool

    def __call__(self, frame: pd.DataFrame, first: int) -> Scan:
        for column in (self.task, self.target):
            if frame[column].isna().any():
                raise ValueError(f"Column {column!r} of the folder is empty in some rows; fill or remove them.")
        tasks = Counter(task_values(frame[self.task], len(frame)).tolist())
        classes: Counter[Any] = Counter()
        values = ColumnSummary(self.target)
        if self.is_classification:
            labels, counts = np.unique(column_or_1d(frame[self.target]), return_counts=True)
            classes = Counter(dict(zip(labels.tolist(), counts.tolist(), strict=True)))
        else:
            values = ColumnSummary.of(frame[self.target])
        return Scan(tasks, classes, values, TableSummary.of(frame[list(self.encoded)]))


def as_sum(scan: Scan) -> tuple[Scan]:
    """A sum of one."""
    return (scan,)
