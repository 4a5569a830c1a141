"""Tasks that were not in training: with whose weights their rows are predicted."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from vmtl._utils.types import Array
from vmtl.inference.fitted import Fitted
from vmtl.inference.structure.newcomer import resembling_weights
from vmtl.inference.structure.positions.class_means import PRIOR_ROWS, ClassMeans


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
class Strangers:
    """The unknown tasks of one call, and with whose weights they are predicted."""

    names: dict[Hashable, int] | None  # their numbers u; None if all are predicted alike
    weights: Array  # (U, T)

    @classmethod
    def alike(cls, n_tasks: int) -> Strangers:
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
class Representations:
    """Sums of the representations of the rows of unknown tasks, part by part."""

    sums: dict[Hashable, tuple[int, Array, float]] = field(default_factory=dict)

    def add(self, labels: Iterable[Hashable], z: Array) -> None:
        """Count rows (n, K) of the tasks ``labels`` (n,)."""
        z = z.astype(np.float64)
        names = np.empty(len(z), dtype=object)
        names[:] = list(labels)
        for name in dict.fromkeys(names):
            of_task = z[[other == name for other in names]]
            count, total, square = self.sums.get(name, (0, np.zeros(z.shape[1]), 0.0))
            self.sums[name] = count + len(of_task), total + of_task.sum(0), square + float((of_task**2).sum())

    def strangers(self, fitted: Fitted) -> Strangers:
        """All tasks that were counted, each with the weights of the known tasks that it resembles."""
        known = fitted.known
        if known is None:
            raise ValueError(
                "unknown_task='similar' compares representations, which this model does not keep, because each of its "
                "tasks has its own or its file is of an earlier version; set unknown_task='average'."
            )
        structure = fitted.hyperparameters.structure
        is_classification = fitted.model.is_classification
        common = known.classes.without_classes(is_classification).unit()
        rows = []
        for count, total, square in self.sums.values():
            mean = torch.from_numpy(total / count)
            within = max(0.0, square - count * float(mean.square().sum()))
            variance = (within + PRIOR_ROWS * common) / (count - 1 + PRIOR_ROWS)
            new = ClassMeans(mean[None, None], torch.full((1, 1), float(count), dtype=torch.float64), variance[None])
            rows.append(resembling_weights(known, structure, new, is_classification).numpy())
        weights = np.array(rows).reshape(len(rows), fitted.model.n_tasks)
        return Strangers({name: number for number, name in enumerate(self.sums)}, weights)
