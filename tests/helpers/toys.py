"""Small problems, for many tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from vmtl._utils.types import Array
from vmtl.data.rows import Rows


@dataclass(frozen=True, eq=False)
class Toy:
    """One small problem; ``classes`` is 0 in regression."""

    name: str
    X: Array
    y: Array
    task: Array
    classes: int

    @property
    def n_tasks(self) -> int:
        return int(self.task.max()) + 1

    def rows(self, dtype: torch.dtype = torch.float64, weight: Array | None = None) -> Rows:
        """The problem as training rows."""
        return Rows(
            torch.as_tensor(self.X, dtype=dtype),
            torch.as_tensor(self.y, dtype=torch.int64 if self.classes else dtype),
            torch.as_tensor(self.task),
            torch.ones(len(self.y), dtype=dtype) if weight is None else torch.as_tensor(weight, dtype=dtype),
            self.n_tasks,
            max(1, self.classes),
            bool(self.classes),
        )


def toy(
    sizes: Sequence[int],
    classes: int = 0,
    features: int = 6,
    seed: int = 0,
    missing: Sequence[tuple[int, int]] = (),
    spread: float = 1.0,
) -> Toy:
    """Tasks with the given numbers of rows around common class centres, or one common linear rule.

    Rows of a (task, class) in ``missing`` become rows of the next class.
    """
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(len(sizes)), sizes)
    rows = len(task)
    shift = 0.3 * rng.normal(size=(len(sizes), features))[task]
    name = f"{'classes' if classes else 'values'}-{'-'.join(map(str, sizes))}{'-missing' if missing else ''}"
    if not classes:
        X = rng.normal(size=(rows, features)) + shift
        y = X @ rng.normal(size=features) / np.sqrt(features) + 0.1 * rng.normal(size=rows)
        return Toy(name, X, (y - y.mean()) / y.std(), task, 0)
    y = np.concatenate([np.arange(size) % classes for size in sizes])
    for t, c in missing:
        y[(task == t) & (y == c)] = (c + 1) % classes
    centres = 2 * rng.normal(size=(classes, features))
    return Toy(name, centres[y] + shift + spread * rng.normal(size=(rows, features)), y, task, classes)
