"""Rows of several related tasks: what every loader returns and every benchmark splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from vmtl._utils.types import Array

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows of T related tasks that share one label space or one target space.

    X : (n, D) array or DataFrame of raw columns; it may be memory-mapped.
    y : (n,) class index into ``class_names``, or a real target in regression.
    task : (n,) index into ``task_names``.
    class_names : names of the C classes; ``None`` in regression.
    paths : (n,) where each row came from (an image below its root), if it has such a place.
    groups : (n,) rows with the same value belong on the same side of every split, if given.
    """

    name: str
    X: Array | pd.DataFrame
    y: Array
    task: Array
    task_names: tuple[str, ...]
    class_names: tuple[str, ...] | None = None
    paths: Array | None = None
    groups: Array | None = None

    def __post_init__(self) -> None:
        n = len(self.X)
        for field in ("y", "task", "paths", "groups"):
            value = getattr(self, field)
            if value is not None and len(value) != n:
                raise ValueError(f"{field} has {len(value)} rows but X has {n}; give one value per row.")
        if n and (self.task.min() < 0 or self.task.max() >= self.n_tasks):
            raise ValueError(f"task must index task_names, from 0 to {self.n_tasks - 1}.")
        if self.class_names is not None and n and (self.y.min() < 0 or self.y.max() >= self.n_classes):
            raise ValueError(f"y must index class_names, from 0 to {self.n_classes - 1}.")

    @property
    def n_rows(self) -> int:
        return len(self.y)

    @property
    def n_tasks(self) -> int:
        return len(self.task_names)

    @property
    def n_classes(self) -> int:
        """C, the number of classes; 1 in regression."""
        return 1 if self.class_names is None else len(self.class_names)

    @property
    def is_classification(self) -> bool:
        return self.class_names is not None

    @cached_property
    def tasks(self) -> Array:
        """(n,) the task of each row by name, as the estimators take it."""
        return np.asarray(self.task_names, dtype=object)[self.task]

    @cached_property
    def labels(self) -> Array:
        """(n,) the target as a user writes it: class names, or the real targets in regression."""
        if self.class_names is None:
            return self.y
        return np.asarray(self.class_names, dtype=object)[self.y]

    def subset(self, rows: Array | Sequence[int]) -> Problem:
        """The same problem on some rows, in the given order; task and class names stay."""
        index = np.asarray(rows)
        if index.dtype == bool:
            index = np.flatnonzero(index)

        def take(value: Any) -> Any:
            if value is None:
                return None
            return value.iloc[index] if hasattr(value, "iloc") else value[index]

        fields = ("X", "y", "task", "paths", "groups")
        return replace(self, **{field: take(getattr(self, field)) for field in fields})
