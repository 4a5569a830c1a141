"""The covariance B of one weight across tasks: a table of all pairs, or for many tasks a factor of few columns.

    B_ti = m exp(-gamma |p_t - p_i|^2),    B_tt = 1

where p = the tasks' positions, m = the strength of sharing, gamma = the decay. An isolated task shares nothing.
"""

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
#: The least part of a task's variance that it shares with no other: the inverse of B divides by it.
LEAST_OWN = 1e-6
#: Most columns of the factor of a kernel of positions, and what it may leave unexplained of a task's variance.
MAX_RANK, UNEXPLAINED = 64, 0.01


class TaskCovariance(Protocol):
    """B (T, T), with 1 on its diagonal, through what it does."""

    @property
    def n_tasks(self) -> int: ...

    @property
    def correlation(self) -> float:
        """rho, the mean of B between two tasks; 0 where there is one."""

    def between(self, task: Tensor) -> Tensor:
        """B of the tasks of all pairs of rows: (n,) to (n, n)."""

    def apply(self, values: Tensor) -> Tensor:
        """B times values (T, ...)."""

    def with_task(self, row: Tensor) -> TaskCovariance:
        """B of one more task, with the correlations ``row`` (T,)."""

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

    def between(self, task: Tensor) -> Tensor:
        return self.matrix.index_select(1, task).index_select(0, task)

    def with_task(self, row: Tensor) -> DenseCovariance:
        column = torch.cat([row, row.new_ones(1)])[:, None]
        return DenseCovariance(torch.cat([torch.cat([self.matrix, row[None]]), column], 1))

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

    def between(self, task: Tensor) -> Tensor:
        of_rows = self.factor[task]
        return torch.where(task[:, None] == task, 1.0, of_rows @ of_rows.T)

    def with_task(self, row: Tensor) -> LowRankCovariance:
        """With the row of Phi that comes nearest to these correlations, in the space that all tasks share."""
        nearest = torch.linalg.lstsq(self.factor, row[:, None]).solution[:, 0]
        return LowRankCovariance(torch.cat([self.factor, (nearest / nearest.norm().clamp_min(1.0))[None]]))

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


def exchangeable(n_tasks: int, correlation: float, isolated: Tensor | None = None) -> TaskCovariance:
    """B = (1 - rho) I + rho 11', but for isolated tasks (T,)."""
    shared = torch.full((n_tasks, 1), math.sqrt(max(0.0, correlation)), dtype=torch.float64)
    if isolated is not None:
        shared = torch.where(isolated[:, None], 0.0, shared)
    if n_tasks > MAX_DENSE:
        return LowRankCovariance(shared)
    return DenseCovariance((shared @ shared.T).fill_diagonal_(1.0))


def positioned(points: Tensor, strength: float, decay: float, isolated: Tensor) -> TaskCovariance:
    """B of tasks at ``points`` (T, Q), of which some are ``isolated`` (T,)."""
    if len(points) > MAX_DENSE:
        factor = math.sqrt(strength) * kernel_factor(points, decay)
        return LowRankCovariance.orthogonal(torch.where(isolated[:, None], 0.0, factor))
    return DenseCovariance(decayed(squared_distances(points @ points.T), strength, decay, isolated))


def decayed(distances: Tensor, strength: float | Tensor, decay: float | Tensor, isolated: Tensor) -> Tensor:
    """B (..., T, T) of squared distances."""
    between = strength * torch.exp(-decay * distances)
    between = between.masked_fill(isolated[:, None] | isolated, 0.0)
    return torch.where(torch.eye(distances.shape[-1], dtype=torch.bool), 1.0, between)


def squared_distances(gram: Tensor) -> Tensor:
    """|p_t - p_i|^2 from inner products (..., T, T)."""
    norms = gram.diagonal(dim1=-2, dim2=-1)
    return (norms.unsqueeze(-1) + norms.unsqueeze(-2) - 2 * gram).clamp_min(0)


def kernel_factor(points: Tensor, decay: float) -> Tensor:
    """(T, R) whose rows have the inner products exp(-gamma |p_t - p_i|^2), by Cholesky factorisation with pivots.

    The kernel is smooth and positions have few dimensions, so that some tens of tasks, well spread, explain the others:
    the next pivot is the task that those before it explain least.
    """
    left = points.new_ones(len(points))  # (T,) what is not explained of each variance
    factor = points.new_empty(len(points), 0)
    while factor.shape[1] < min(MAX_RANK, len(points)) and float(left.max()) > UNEXPLAINED:
        pivot = int(left.argmax())
        column = torch.exp(-decay * (points - points[pivot]).square().sum(-1)) - factor @ factor[pivot]
        column = column / left[pivot].sqrt()
        factor = torch.cat([factor, column[:, None]], 1)
        left = (left - column.square()).clamp_min(0)
        left[pivot] = 0
    return factor
