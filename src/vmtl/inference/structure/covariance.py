"""How one weight varies across tasks: B, as a table of all pairs, or of many tasks by a factor of few columns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

from vmtl._utils.cholesky import cholesky

#: Most tasks whose covariance is a table of all pairs.
MAX_DENSE = 300
#: Squared length of a factor's column that does not count; B has 1 on its diagonal.
SHORTEST = 1e-3
#: What a task of many shares with nobody, at least: the inverse of B divides by it.
LEAST_OWN = 1e-6


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

    def with_task(self, row: Tensor) -> TaskCovariance:
        """B of one more task, with the correlations ``row`` (T,)."""

    def take(self, tasks: Tensor) -> TaskCovariance:
        """B of some tasks (S,)."""

    def solve(self, values: Tensor) -> Tensor:
        """B^-1 times values (T,)."""

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

    def with_task(self, row: Tensor) -> DenseCovariance:
        column = torch.cat([row, row.new_ones(1)])[:, None]
        return DenseCovariance(torch.cat([torch.cat([self.matrix, row[None]]), column], 1))

    def take(self, tasks: Tensor) -> DenseCovariance:
        return DenseCovariance(self.matrix[tasks][:, tasks])

    def solve(self, values: Tensor) -> Tensor:
        return torch.cholesky_solve(values[:, None], cholesky(self.matrix))[:, 0]

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
class LowRankCovariance:
    """B = Phi Phi' + the diagonal that makes it 1, never written out: what many tasks share has few dimensions."""

    factor: Tensor  # (T, R) Phi

    @classmethod
    def orthogonal(cls, factor: Tensor) -> LowRankCovariance:
        """The same Phi Phi' by columns that are orthogonal, the longest first, without those of no length.

        A column that is shorter than ``SHORTEST`` goes to the diagonal.
        """
        squares, axes = torch.linalg.eigh(factor.T @ factor)
        return cls((factor @ axes[:, squares > SHORTEST]).flip(1).contiguous())

    @property
    def n_tasks(self) -> int:
        return len(self.factor)

    @cached_property
    def own(self) -> Tensor:
        """(T,) what B has on its diagonal besides Phi Phi': what a task shares with nobody."""
        return (1 - self.factor.square().sum(-1)).clamp_min(0)

    @property
    def correlation(self) -> float:
        pairs = self.factor.sum(0).square().sum() - self.factor.square().sum()
        return float(pairs / max(1, self.n_tasks * (self.n_tasks - 1)))

    def weaken(self, kept: float) -> LowRankCovariance:
        return LowRankCovariance(math.sqrt(kept) * self.factor)

    def between(self, task: Tensor) -> Tensor:
        of_rows = self.factor[task]
        return torch.where(task[:, None] == task, 1.0, of_rows @ of_rows.T)

    def with_task(self, row: Tensor) -> LowRankCovariance:
        """With the row of Phi that comes nearest to these correlations, in the space that all tasks share."""
        nearest = torch.linalg.lstsq(self.factor, row[:, None]).solution[:, 0]
        return LowRankCovariance(torch.cat([self.factor, (nearest / nearest.norm().clamp_min(1.0))[None]]))

    def take(self, tasks: Tensor) -> LowRankCovariance:
        return LowRankCovariance(self.factor[tasks])

    def solve(self, values: Tensor) -> Tensor:
        """By Woodbury's formula: D^-1 - D^-1 Phi (I + Phi' D^-1 Phi)^-1 Phi' D^-1."""
        own = self.own.clamp_min(LEAST_OWN)
        scaled = self.factor / own[:, None]
        inner = torch.eye(self.factor.shape[1], dtype=self.factor.dtype) + self.factor.T @ scaled
        return values / own - scaled @ torch.cholesky_solve((scaled.T @ values)[:, None], cholesky(inner))[:, 0]

    def apply(self, values: Tensor) -> Tensor:
        return _times(self.factor, _times(self.factor.T, values)) + _each(self.own, values)

    def root(self, values: Tensor) -> Tensor:
        rank = self.factor.shape[1]
        return _times(self.factor, values[:rank]) + _each(self.own.sqrt(), values[rank:])

    def root_squares(self, values: Tensor) -> Tensor:
        return torch.cat([_times(self.factor.square().T, values), _each(self.own, values)])


def _times(matrix: Tensor, values: Tensor) -> Tensor:
    """matrix (R, T) times values (T, ...)."""
    product: Tensor = torch.tensordot(matrix.to(values), values, 1)
    return product


def _each(numbers: Tensor, values: Tensor) -> Tensor:
    """One number (T,) times the values (T, ...) of each task."""
    return numbers.to(values).view(-1, *(1,) * (values.dim() - 1)) * values


def alike(n_tasks: int, correlation: float) -> TaskCovariance:
    """Tasks that are all alike, B = (1 - rho) I + rho 11', as a table unless they are too many for one."""
    if n_tasks > MAX_DENSE:
        return LowRankCovariance(torch.full((n_tasks, 1), math.sqrt(max(0.0, correlation)), dtype=torch.float64))
    return DenseCovariance((1 - correlation) * torch.eye(n_tasks, dtype=torch.float64) + correlation)
