"""What the columns of the training rows looked like, as counts, and how far new rows have drifted from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vmtl._utils.json_values import Document
from vmtl._utils.types import Array
from vmtl.data.column_format import ColumnFormat
from vmtl.data.columns import as_levels, as_numbers

if TYPE_CHECKING:
    import pandas as pd

#: Levels of a text column that are counted on their own.
MOST_LEVELS = 64
#: Rows of a task from which on its means are kept, and the most means (tasks times columns) that are.
LEAST_ROWS, MOST_MEANS = 5, 20_000
#: Chance, over all columns together, of calling a shift what is none.
CHANCE = 0.01
#: Population stability index from which on a column has shifted, and has shifted far.
SHIFTED, FAR = 0.1, 0.25
#: Standard deviations within tasks by which the mean of a task must move to be reported.
MOVED = 0.5


@dataclass(frozen=True)
class ColumnProfile:
    """One column of some rows.

    ``edges`` are the distinct deciles of a number, and ``counts`` the rows up to each, and beyond; of text, ``levels``
    are the frequent texts and ``counts`` their rows, then those of all others. The last count is that of the gaps.
    """

    form: ColumnFormat
    counts: tuple[int, ...]
    edges: tuple[float, ...] = ()
    levels: tuple[str, ...] = ()
    mean: float = 0.0
    spread: float = 1.0  # standard deviation within tasks

    @classmethod
    def of(cls, column: pd.Series, form: ColumnFormat, task: Array) -> ColumnProfile:
        """The profile of training rows."""
        if form.kind == "text":
            known = Counter(as_levels(column.dropna()).tolist())
            empty = cls(form, (), levels=tuple(level for level, _ in known.most_common(MOST_LEVELS)))
        else:
            values = as_numbers(column, form)
            known_values, of_task = values[~np.isnan(values)], task[~np.isnan(values)]
            deciles = np.quantile(known_values, np.arange(1, 10) / 10, method="higher") if len(known_values) else ()
            mean, spread = (float(known_values.mean()), _within(known_values, of_task)) if len(known_values) else (0, 1)
            empty = cls(form, (), tuple(np.unique(deciles).tolist()), mean=mean, spread=spread)
        return cls(form, tuple(empty.count(column).tolist()), empty.edges, empty.levels, empty.mean, empty.spread)

    def count(self, column: pd.Series) -> Array:
        """The rows of a column in the bins of this profile."""
        if self.form.kind == "text":
            place = {level: number for number, level in enumerate(self.levels)}
            last = len(self.levels)
            bins = np.array([place.get(level, last) for level in as_levels(column)], dtype=np.int64)
            gaps = column.isna().to_numpy()
        else:
            values = as_numbers(column, self.form)
            gaps, last = np.isnan(values), len(self.edges)
            bins = np.searchsorted(np.array(self.edges), values, side="left")
        return np.bincount(np.where(gaps, last + 1, bins), minlength=last + 2)

    def to_json(self) -> dict[str, object]:
        return {
            "kind": self.form.kind,
            "format": self.form.to_json(),
            "counts": list(self.counts),
            "edges": list(self.edges),
            "levels": list(self.levels),
            "mean": self.mean,
            "spread": self.spread,
        }

    @classmethod
    def from_json(cls, document: Document) -> ColumnProfile:
        form = ColumnFormat.from_json(document["kind"], document["format"])
        counts, edges, levels = (tuple(document[name]) for name in ("counts", "edges", "levels"))
        return cls(form, counts, edges, levels, float(document["mean"]), float(document["spread"]))


@dataclass(frozen=True)
class TableProfile:
    """All columns of the training rows, and the means of the numbers of every task that has rows enough."""

    columns: dict[str, ColumnProfile]
    rows: dict[str, int]  # of each task
    means: dict[str, dict[str, float]]  # of each task and column

    @classmethod
    def of(
        cls, table: pd.DataFrame, formats: Mapping[str, ColumnFormat], task: Array, names: tuple[str, ...]
    ) -> TableProfile:
        """The profile of rows whose tasks ``task`` (n,) numbers ``names``; of the columns that have a format."""
        columns = {name: ColumnProfile.of(table[name], form, task) for name, form in formats.items()}
        counts = np.bincount(task, minlength=len(names))
        means = task_means(table, columns, task, names) if len(names) * len(columns) <= MOST_MEANS else {}
        return cls(columns, dict(zip(names, counts.tolist(), strict=True)), means)

    def to_json(self) -> dict[str, object]:
        columns = [[name, column.to_json()] for name, column in self.columns.items()]
        return {"columns": columns, "rows": self.rows, "means": self.means}

    @classmethod
    def from_json(cls, document: Document) -> TableProfile:
        columns = {name: ColumnProfile.from_json(column) for name, column in document["columns"]}
        return cls(columns, dict(document["rows"]), dict(document["means"]))


def task_means(
    table: pd.DataFrame, columns: Mapping[str, ColumnProfile], task: Array, names: tuple[str, ...]
) -> dict[str, dict[str, float]]:
    """The mean of every number and date, of each task with ``LEAST_ROWS`` values of it."""
    means: dict[str, dict[str, float]] = {name: {} for name in names}
    for column, profile in columns.items():
        if profile.form.kind == "text" or column not in table.columns:
            continue
        values = as_numbers(table[column], profile.form)
        known = ~np.isnan(values)
        counts = np.bincount(task[known], minlength=len(names))
        sums = np.bincount(task[known], weights=values[known], minlength=len(names))
        for t in np.flatnonzero(counts >= LEAST_ROWS):
            means[names[t]][column] = float(sums[t] / counts[t])
    return {name: of_task for name, of_task in means.items() if of_task}


@dataclass(frozen=True)
class Drift:
    """How far a column of new rows is from training. ``index`` = the population stability index."""

    index: float
    p: float
    training: Array  # shares of the bins
    new: Array

    def has_shifted(self, n_columns: int) -> bool:
        """Whether it is large, and not by chance among so many columns."""
        return self.index >= SHIFTED and self.p * n_columns < CHANCE


def drift(profile: ColumnProfile, column: pd.Series) -> Drift:
    """Compare the rows of a column with those of training, in the bins of training."""
    from scipy.stats import chi2_contingency

    counts = np.array([profile.counts, profile.count(column)], dtype=float)
    both = counts[:, counts.any(axis=0)]
    p = float(chi2_contingency(both).pvalue) if both.shape[1] > 1 and both.any(axis=1).all() else 1.0
    smooth = counts + 0.5
    training, new = smooth / smooth.sum(axis=1, keepdims=True)
    shares = counts / np.maximum(1, counts.sum(axis=1, keepdims=True))
    return Drift(float(((new - training) * np.log(new / training)).sum()), p, shares[0], shares[1])


@dataclass(frozen=True)
class MovedMean:
    """The mean of a column in a task, in training and now; ``deviations`` = the move in deviations within tasks."""

    task: str
    column: str
    training: float
    new: float
    deviations: float


def moved_means(known: TableProfile, table: pd.DataFrame, task: Array, names: tuple[str, ...]) -> list[MovedMean]:
    """Tasks in which the mean of a column has moved further than chance, over all of them, would have it."""
    from scipy.stats import norm

    now = task_means(table, known.columns, task, names)
    rows = np.bincount(task, minlength=len(names))
    pairs = [(name, column) for name in now for column in now[name] if column in known.means.get(name, {})]
    limit = float(norm.isf(CHANCE / 2 / max(1, len(pairs))))
    found = []
    for name, column in pairs:
        before, after, spread = known.means[name][column], now[name][column], known.columns[column].spread
        moved = (after - before) / spread
        error = np.sqrt(1 / known.rows[name] + 1 / rows[names.index(name)])
        if abs(moved) >= MOVED and abs(moved) > limit * error:
            found.append(MovedMean(name, column, before, after, float(moved)))
    return sorted(found, key=lambda one: -abs(one.deviations))


def _within(values: Array, task: Array) -> float:
    """Standard deviation about the mean of each task, of all values together; 1 where they do not vary."""
    counts = np.bincount(task)
    means = np.bincount(task, weights=values) / np.maximum(1, counts)
    degrees = max(1, len(values) - int((counts > 0).sum()))
    spread = float(np.sqrt(np.square(values - means[task]).sum() / degrees))
    return spread if spread > 0 else float(values.std()) or 1.0
