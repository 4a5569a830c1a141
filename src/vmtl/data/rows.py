"""Training rows as tensors, and a batch of them: one slice per task, padding marked by weight 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from vmtl.data.task_blocks import TaskBlock, task_blocks

#: What is asked of many rows: sums, so that their parts can be looked at one after the other, and anywhere.
Sums = tuple[Any, ...]


@dataclass(frozen=True)
class Rows:
    """All training rows of T tasks, flat.

    ``x`` holds the columns, or features of them; ``weight`` the sample weights.
    """

    x: Tensor  # (n, D)
    y: Tensor  # (n,) class index, or the standardised target in regression
    task: Tensor  # (n,)
    weight: Tensor  # (n,)
    n_tasks: int
    n_classes: int  # 1 in regression
    is_classification: bool

    @cached_property
    def task_weight(self) -> Tensor:
        """N_t, the total sample weight of each task: (T,)."""
        return torch.zeros(self.n_tasks, dtype=self.weight.dtype, device=self.weight.device).index_add(
            0, self.task, self.weight
        )

    @cached_property
    def unit(self) -> float:
        """sum weight^2 / sum weight: the weight of a row that counts as one."""
        weight = self.weight.double()
        return float(weight.square().sum() / weight.sum())

    @cached_property
    def label(self) -> Tensor:
        """(n,) the class of each row; 0 in regression, where all rows are of one kind."""
        return self.y if self.is_classification else torch.zeros_like(self.task)

    @cached_property
    def class_mask(self) -> Tensor:
        """(T, C) which classes each task saw, with a positive weight."""
        seen = torch.zeros(self.n_tasks, self.n_classes, dtype=torch.bool, device=self.task.device)
        counted = self.weight > 0
        seen[self.task[counted], self.label[counted]] = True
        return seen

    @cached_property
    def by_task(self) -> tuple[Tensor, Tensor]:
        """Row numbers of each task, padded, and which of them are rows: (T, M), (T, M)."""
        index, mask = group_table(self.task, self.n_tasks)
        return index, mask

    @cached_property
    def by_blocks(self) -> list[TaskBlock]:
        """The rows by task, in blocks for batched products."""
        return task_blocks(self)

    def total(self, part: Callable[[Rows], Sums]) -> Sums:
        """The sum over all rows of what ``part`` says of some of them; here all are looked at together."""
        return part(self)

    def take(self, index: Tensor) -> Rows:
        """Some rows, by number, of the same problem."""
        return replace(self, x=self.x[index], y=self.y[index], task=self.task[index], weight=self.weight[index])

    def map_columns(self, function: Callable[[Tensor], Tensor]) -> Rows:
        """The same rows with ``function`` of their columns, (n, D) to (n, F), in place of them."""
        return replace(self, x=function(self.x))

    def cpu(self) -> Rows:
        if self.x.device.type == "cpu":
            return self
        return replace(self, x=self.x.cpu(), y=self.y.cpu(), task=self.task.cpu(), weight=self.weight.cpu())

    def batch(self, index: Tensor, mask: Tensor) -> Batch:
        """The batch of rows ``index`` (T, N); weights sum to 1 per task and are 0 outside ``mask``.

        Padding, and rows that weigh nothing, become copies of a row of their task that counts: a class that the
        task never saw would have an infinite loss, and 0 times that is not a number.
        """
        weight = torch.where(mask, self.weight[index], 0.0)
        counted = weight > 0
        index = torch.where(counted, index, index.gather(1, counted.int().argmax(1, keepdim=True)))
        weight = weight / weight.sum(-1, keepdim=True).clamp_min(torch.finfo(weight.dtype).tiny)
        return Batch(self.x[index], self.y[index], weight, index)


@dataclass(frozen=True)
class Batch:
    """N rows of each of T tasks."""

    x: Tensor  # (T, N, D)
    y: Tensor  # (T, N)
    weight: Tensor  # (T, N), sums to 1 per task, 0 marks padding
    index: Tensor  # (T, N) row numbers in the training rows

    def mean(self, value: Tensor) -> Tensor:
        """Weighted mean over the rows of each task: (..., T, N) to (..., T)."""
        return (value * self.weight).sum(-1)


def group_table(group: Tensor, n_groups: int) -> tuple[Tensor, Tensor]:
    """Members of each group, padded with 0, and a mask: (G, M), (G, M)."""
    order = torch.argsort(group, stable=True)
    counts = torch.bincount(group, minlength=n_groups)
    starts = counts.cumsum(0) - counts
    width = max(1, int(counts.max())) if len(group) else 1
    offset = torch.arange(width, device=group.device)
    mask = offset < counts[:, None]  # (G, M)
    position = (starts[:, None] + offset).clamp_max(max(0, len(group) - 1))
    return torch.where(mask, order[position], 0), mask
