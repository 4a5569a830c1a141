"""What is learned of the columns of a table before they become features: as a sum, so that its parts add up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from vmtl.data.column_format import ColumnFormat
from vmtl.data.column_types import plain_kind
from vmtl.data.columns import GAP, as_levels, as_numbers

if TYPE_CHECKING:
    import pandas as pd

#: Different texts that a column may hold, of which the most frequent count.
MOST_TEXTS = 100_000


@dataclass(frozen=True)
class ColumnSummary:
    """One column: its kind if it has any value, how many it has, their mean and squares about it, or their levels."""

    name: str
    kind: str | None = None
    gaps: int = 0
    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    levels: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, column: pd.Series) -> ColumnSummary:
        name, gaps = str(column.name), int(column.isna().sum())
        if gaps == len(column):
            return cls(name, None, gaps)
        kind, values = plain_kind(column), column.dropna()  # a block does not decide how dates are written
        if kind == "text":
            return cls(name, kind, gaps, len(values), levels=Counter(as_levels(values).tolist()))
        numbers = as_numbers(values, ColumnFormat(kind))
        mean = float(numbers.mean())
        return cls(name, kind, gaps, len(values), mean, float(((numbers - mean) ** 2).sum()))

    def __add__(self, other: ColumnSummary) -> ColumnSummary:
        kind = self.kind or other.kind
        if other.kind not in (None, kind):
            kinds = f"{self.kind} in one part and {other.kind} in another"
            raise ValueError(f"Column {self.name!r} holds {kinds}; give it one kind, or drop it.")
        levels = self.levels + other.levels
        if len(levels) > MOST_TEXTS:
            raise ValueError(f"Column {self.name!r} holds more than {MOST_TEXTS:,} different texts; drop it.")
        count, apart = self.count + other.count, other.mean - self.mean
        share = other.count / max(1, count)
        squares = self.squares + other.squares + apart**2 * self.count * share
        return ColumnSummary(self.name, kind, self.gaps + other.gaps, count, self.mean + share * apart, squares, levels)

    @property
    def scale(self) -> float:
        """The deviation, or 1 where that is no more than rounding (as ``StandardScaler`` has it)."""
        eps, n = float(np.finfo(np.float64).eps), max(1, self.count)
        variance = self.squares / n
        return 1.0 if variance <= n * eps * variance + (n * self.mean * eps) ** 2 else float(np.sqrt(variance))

    def frequent(self, most: int) -> list[str]:
        """The most frequent levels, sorted; a gap is one."""
        counts = self.levels + Counter({GAP: self.gaps})
        return sorted(sorted(counts, key=lambda level: (-counts[level], level))[:most])


@dataclass(frozen=True)
class TableSummary:
    """All columns of some rows."""

    columns: tuple[ColumnSummary, ...]

    @classmethod
    def of(cls, table: pd.DataFrame) -> TableSummary:
        return cls(tuple(ColumnSummary.of(table[name]) for name in table.columns))

    def __add__(self, other: TableSummary) -> TableSummary:
        return TableSummary(tuple(a + b for a, b in zip(self.columns, other.columns, strict=True)))
