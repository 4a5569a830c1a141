"""A fit on a folder of Parquet files that need not fit into memory, here or on a Ray cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.base import clone
from sklearn.utils.validation import validate_data

from vmtl.data.preprocessing import TablePreprocessor
from vmtl.data.stored.crews import Crew
from vmtl.data.stored.owner import Stage
from vmtl.data.stored.parquet_folder import ParquetFolder
from vmtl.data.stored.stored_rows import StoredRows, stored_rows
from vmtl.estimators.inputs.folder_reader import FolderReader
from vmtl.estimators.inputs.folder_scan import Scan, ScanOfBlock, as_sum
from vmtl.estimators.inputs.target_encoding import TargetEncoder
from vmtl.estimators.inputs.task_labels import unique_tasks

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd

    from vmtl.estimators.base import BaseTaskEstimator

#: Rows of a folder that are read whole and fitted by ``fit``.
MAX_ROWS_IN_MEMORY = 2000


@dataclass(frozen=True)
class FolderColumns:
    """A folder, and what its columns are for."""

    source: ParquetFolder
    task: str
    target: str
    features: tuple[str, ...]

    @classmethod
    def of(cls, source: ParquetFolder, task: str, target: str, drop: Sequence[str]) -> FolderColumns:
        """All columns but the two and those to ``drop`` are features."""
        features = source.features({task: "task", target: "target"} | dict.fromkeys(drop, "drop"))
        if not features:
            raise ValueError(f"{source.path} has no columns besides {task!r} and {target!r}; give one to learn from.")
        return cls(source, task, target, tuple(features))

    @property
    def fits_into_memory(self) -> bool:
        return self.source.n_rows <= MAX_ROWS_IN_MEMORY

    def read(self, most: int | None = None) -> pd.DataFrame:
        """The rows of a small folder, or at most so many of the first."""
        import pandas as pd

        frames = []
        for part in self.source.parts:
            for _, frame in part.frames([*self.features, self.task, self.target]):
                frames.append(frame)
                if most is not None:
                    return frame.head(most)
        return pd.concat(frames, ignore_index=True)

    def encoded(self, missing: str) -> tuple[str, ...]:
        """Features that have to be looked at before they are numbers: all, if any is text or gaps are filled."""
        from pyarrow import types

        plain = all(
            types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
            for kind in (self.source.columns[name] for name in self.features)
        )
        return () if plain and missing == "error" else self.features


@dataclass(frozen=True)
class FolderRows:
    """Rows of a folder, ready to fit, and what was learned to read them."""

    rows: StoredRows
    tasks: list[Hashable]
    encoder: TargetEncoder


def read_in_parts(estimator: BaseTaskEstimator, columns: FolderColumns, crew: Crew) -> FolderRows:
    """Look through the folder once, and keep what was learned of the columns in ``estimator``."""
    scan = scan_folder(columns, crew, estimator.missing, estimator._is_classifier)
    tasks = unique_tasks(np.fromiter(scan.tasks, dtype=object, count=len(scan.tasks)))
    encoder = estimator._encoder_of_scan(scan)
    example = columns.read(most=1)
    _learn_columns(estimator, example[list(columns.features)], scan)
    reader = FolderReader(
        _bare_copy(estimator),
        columns.task,
        columns.target,
        columns.features,
        {name: number for number, name in enumerate(tasks)},
        encoder,
    )
    stage = Stage((*columns.features, columns.task, columns.target), reader)
    counts = torch.tensor([scan.tasks[name] for name in tasks])
    return FolderRows(stored_rows(crew, stage, counts, reader(example, 0)), tasks, encoder)


def scan_folder(columns: FolderColumns, crew: Crew, missing: str, is_classification: bool) -> Scan:
    """Tasks and targets of all rows; of the columns, too, where they are text or dates, or gaps are filled."""
    encoded = columns.encoded(missing)
    look = ScanOfBlock(columns.task, columns.target, encoded, is_classification)
    (scan,) = crew.total(Stage((*encoded, columns.task, columns.target), look), as_sum)
    return scan  # type: ignore[no-any-return]


def _learn_columns(estimator: Any, example: pd.DataFrame, scan: Scan) -> None:
    """The columns of X, by an example, and how they are encoded."""
    estimator.preprocessor_ = None
    X: Any = example
    if scan.table.columns:
        estimator.preprocessor_ = TablePreprocessor(missing=estimator.missing).fit_summary(scan.table)
        X = estimator.preprocessor_.transform(example)
    validate_data(estimator, X, reset=True, dtype=None, ensure_all_finite=False)


def _bare_copy(estimator: Any) -> Any:
    """The estimator with what it knows of columns, and nothing else: what workers read rows with."""
    copy = clone(estimator).set_params(verbose=0, task_column=None)
    for name in ("preprocessor_", "n_features_in_", "feature_names_in_"):
        if hasattr(estimator, name):
            setattr(copy, name, getattr(estimator, name))
    return copy
