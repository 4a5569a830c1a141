"""Tasks that were not in training: with whose weights their rows are predicted."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from vmtl._utils.types import Array

#: Rows of an unknown task that decide which tasks it is similar to; further ones are not looked at.
MAX_ROWS = 10_000


@dataclass(frozen=True)
class RowTasks:
    """The task of each row, as a number; and how much each known task counts for one that is unknown."""

    codes: Array  # (n,) the number of a known task, -1 - u of the unknown task u
    weights: Array  # (U, T) rows sum to 1

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Array | slice) -> RowTasks:
        return replace(self, codes=self.codes[rows])

    def unknown(self) -> Iterator[tuple[Array, Array]]:
        """For every unknown task that has rows: the numbers of these rows, and its weights (T,)."""
        for code in np.unique(self.codes[self.codes < 0]):
            yield np.flatnonzero(self.codes == code), self.weights[-1 - code]


@dataclass(frozen=True)
class UnknownTasks:
    """The unknown tasks of one call, and with whose weights they are predicted."""

    names: dict[Hashable, int] | None  # their numbers u; None if all are predicted alike
    weights: Array  # (U, T)

    @classmethod
    def average(cls, n_tasks: int) -> UnknownTasks:
        """All of them as the average of the known tasks."""
        return cls(None, np.full((1, n_tasks), 1 / n_tasks))

    def row_tasks(self, labels: Array, codes: Array) -> RowTasks:
        """The tasks of rows with these labels (n,), where ``codes`` (n,) has -1 for every unknown one."""
        if self.names is not None:
            codes = codes.copy()
            for row in np.flatnonzero(codes < 0):
                codes[row] = -1 - self.names[labels[row]]
        return RowTasks(codes, self.weights)


@dataclass
class UnknownRows:
    """The first rows of every unknown task, collected part by part."""

    parts: dict[Hashable, list[Array]] = field(default_factory=dict)

    def add(self, labels: Iterable[Hashable], x: Array) -> None:
        """Keep rows (n, D) of the tasks ``labels`` (n,)."""
        names = np.empty(len(x), dtype=object)
        names[:] = list(labels)
        for name in dict.fromkeys(names):
            kept = self.parts.setdefault(name, [])
            free = MAX_ROWS - sum(map(len, kept))
            kept.append(x[[other == name for other in names]][:free])

    def similar(self, weights: Callable[[Array], Array]) -> UnknownTasks:
        """Each of them with the weights of the known tasks that it is similar to: (n, D) to (T,)."""
        table = np.array([weights(np.concatenate(parts)) for parts in self.parts.values()])
        return UnknownTasks({name: number for number, name in enumerate(self.parts)}, table)
