"""How well a structure of the tasks explains the targets: the evidence of least squares, and its slope."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from vmtl._utils.cholesky import cholesky
from vmtl.data.rows import Rows
from vmtl.inference.least_squares import evidence


@dataclass(frozen=True)
class OutputScale:
    """How targets become outputs: indicators of classes, or the target itself, centred and of mean square 1."""

    centre: Tensor  # (C,)
    deviation: Tensor  # ()
    weight: float  # of a row that counts as one
    is_classification: bool

    @classmethod
    def of(cls, rows: Rows) -> OutputScale:
        plain = cls(torch.zeros(rows.n_classes, dtype=torch.float64), torch.ones(()), rows.unit, rows.is_classification)
        y, part = plain.outputs(rows.y), rows.weight.double() / rows.weight.double().sum()
        centre = part @ y
        return replace(plain, centre=centre, deviation=(part @ (y - centre).square()).mean().sqrt().clamp_min(1e-12))

    def outputs(self, targets: Tensor) -> Tensor:
        """Of targets (...,): (..., C)."""
        y = F.one_hot(targets, len(self.centre)) if self.is_classification else targets.unsqueeze(-1)
        return (y.double() - self.centre) / self.deviation


@dataclass(frozen=True)
class Targets:
    """What the evidence is about: y = s (f + sqrt(lambda / weight) noise), f ~ N(0, B . k), s profiled out."""

    kernel: Tensor  # (n, n) k = z z' + 1, within a task
    outputs: Tensor  # (n, C) centred and scaled to mean square 1: indicators of classes, or the target
    task: Tensor  # (n,)
    weight: Tensor  # (n,)
    n_tasks: int
    level: float = 0.0  # variance of what a task has to itself, beside B . k

    @classmethod
    def of(cls, rows: Rows) -> Targets:
        z, scale = rows.x.double(), OutputScale.of(rows)
        weight = rows.weight.double() / scale.weight
        return cls(z @ z.T + 1, scale.outputs(rows.y), rows.task, weight, rows.n_tasks)

    def with_own_levels(self) -> Targets:
        """The same with a level of its own for every task, as large as the one that k has: B is about slopes alone."""
        return replace(self, kernel=self.kernel - 1, level=1.0)

    @property
    def free_outputs(self) -> int:
        """The indicators of C classes sum to 1: C - 1 of them are free."""
        return max(1, self.outputs.shape[1] - 1)

    def covariance(self, between: Tensor, ridge: Tensor) -> Tensor:
        """A = B_tt' k + level [t = t'] + lambda / weight: (n, n)."""
        total = between.index_select(1, self.task).index_select(0, self.task).mul_(self.kernel)
        if self.level:
            total.add_(self.task[:, None] == self.task, alpha=self.level)
        total.diagonal().add_(ridge / self.weight)
        return total


class _Evidence(torch.autograd.Function):
    """log N(y; 0, s^2 A), up to a constant, with s^2 = y' A^-1 y / n; slopes in B and lambda from the one factor."""

    @staticmethod
    def forward(ctx: Any, between: Tensor, ridge: Tensor, targets: Targets) -> Tensor:
        free, members = targets.free_outputs, F.one_hot(targets.task, targets.n_tasks).to(targets.outputs)
        found = evidence(targets.covariance(between, ridge), targets.outputs, targets.weight, ridge)
        by_ridge = (found.by_covariance.diagonal() / targets.weight).sum() + found.by_ridge
        by_between = members.T @ (found.by_covariance.mul_(targets.kernel) @ members)
        ctx.save_for_backward(free * by_between, free * by_ridge)
        return free * found.value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        by_between, by_ridge = ctx.saved_tensors
        return grad * by_between, grad * by_ridge, None


def log_evidence(between: Tensor, ridge: Tensor, targets: Targets) -> Tensor:
    """The log evidence of B = ``between`` (T, T) and lambda = ``ridge``, a number that can be differentiated."""
    return _Evidence.apply(between, ridge, targets)  # type: ignore[no-any-return, no-untyped-call]


def separation_information(between: Tensor, ridge: Tensor, targets: Targets) -> Tensor:
    """(T,) what the targets are expected to tell about o_t, by which B_ti = exp(-o_t - o_i) falls.

    (C - 1) / 2 tr(Q dA Q dA) with dA / do_t = -(E_t U + U E_t), where Q = A^-1 (n, n); U = the part of A between
    tasks (n, n); E_t = the rows of task t. Both traces are sums over the block of task t.
    """
    inverse = torch.cholesky_inverse(cholesky(targets.covariance(between, ridge)))
    same = targets.task[:, None] == targets.task
    shared = torch.where(same, 0.0, between[targets.task][:, targets.task] * targets.kernel)  # U
    through = shared @ inverse
    table = torch.where(same, through * through.T + inverse * (through @ shared), 0.0).sum(-1)  # (n,)
    return targets.free_outputs * table.new_zeros(targets.n_tasks).index_add(0, targets.task, table)
