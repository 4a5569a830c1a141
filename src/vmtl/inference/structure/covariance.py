"""How one weight varies across tasks: B, as a table of all pairs, or of tasks that are all alike."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

#: Most tasks whose covariance is a table.
MAX_TABLE = 1000


class TaskCovariance(Protocol):
    """B (T, T), with 1 on its diagonal, through what it does."""

    @property
    def n_tasks(self) -> int: ...

    @property
    def correlation(self) -> float:
        """rho, the mean of B between two tasks; 0 where there is one."""

    def weaken(self, kept: float) -> TaskCovariance:
        """m B + (1 - m) I, m = ``kept``."""

    def between(self, task: Tensor) -> Tensor:
        """B of the tasks of all pairs of rows: (n,) to (n, n)."""

    def apply(self, values: Tensor) -> Tensor:
        """B times values (T, ...)."""

    def root(self, values: Tensor) -> Tensor:
        """L times values (R, ...), where L L' = B: (T, ...)."""

    def root_squares(self, values: Tensor) -> Tensor:
        """The squares of L, transposed, times values (T, ...): (R, ...)."""


@dataclass(frozen=True)
class DenseCovariance:
    """Every pair on its own."""

    matrix: Tensor  # (T, T)

    @property
    def n_tasks(self) -> int:
        return len(self.matrix)

    @property
    def correlation(self) -> float:
        n_tasks = len(self.matrix)
        return float((self.matrix.sum() - n_tasks) / max(1, n_tasks * (n_tasks - 1)))

    def weaken(self, kept: float) -> DenseCovariance:
        eye = torch.eye(self.n_tasks, dtype=self.matrix.dtype)
        return DenseCovariance(kept * self.matrix + (1 - kept) * eye)

    def between(self, task: Tensor) -> Tensor:
        return self.matrix.index_select(1, task).index_select(0, task)

    def apply(self, values: Tensor) -> Tensor:
        return _times(self.matrix, values)

    def root(self, values: Tensor) -> Tensor:
        return _times(self._root, values)

    def root_squares(self, values: Tensor) -> Tensor:
        return _times(self._root.square().T, values)

    @cached_property
    def _root(self) -> Tensor:
        """Eigenvectors times the roots of their values, so that what is shared comes first."""
        values, vectors = torch.linalg.eigh(self.matrix)
        root: Tensor = (vectors * values.clamp_min(0).sqrt()).flip(1)
        return root


@dataclass(frozen=True)
class AlikeCovariance:
    """B = (1 - rho) I + rho 11', never written out: thousands of tasks are taken to be alike."""

    n_tasks: int
    correlation: float

    def weaken(self, kept: float) -> AlikeCovariance:
        return AlikeCovariance(self.n_tasks, kept * self.correlation)

    def between(self, task: Tensor) -> Tensor:
        same = (task[:, None] == task).double()
        return same.mul_(1 - self.correlation).add_(self.correlation)

    def apply(self, values: Tensor) -> Tensor:
        return (1 - self.correlation) * values + self.correlation * values.sum(0)

    def root(self, values: Tensor) -> Tensor:
        shared, own = math.sqrt(self.correlation), math.sqrt(1 - self.correlation)
        return shared * values[:1] + own * values[1:]

    def root_squares(self, values: Tensor) -> Tensor:
        shared = self.correlation * values.sum(0, keepdim=True)
        return torch.cat([shared, (1 - self.correlation) * values])


def _times(matrix: Tensor, values: Tensor) -> Tensor:
    """matrix (R, T) times values (T, ...)."""
    product: Tensor = torch.tensordot(matrix.to(values), values, 1)
    return product


def alike(n_tasks: int, correlation: float) -> TaskCovariance:
    """Tasks that are all alike, as a table unless they are too many for one."""
    if n_tasks > MAX_TABLE:
        return AlikeCovariance(n_tasks, correlation)
    return DenseCovariance((1 - correlation) * torch.eye(n_tasks, dtype=torch.float64) + correlation)
