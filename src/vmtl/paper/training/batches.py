"""The batches of a step: every row, or some of every class and task."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from vmtl.data.rows import Batch, Rows, group_table

#: Rows per task in regression, for each row per class in classification.
REGRESSION_ROWS = 10


class Uniform(Protocol):
    """The part of ``Noise`` that a sampler uses."""

    def uniform(self, *shape: int) -> Tensor: ...


class Sampler(Protocol):
    """Draws the batch of one step."""

    def draw(self, noise: Uniform) -> Batch: ...


class FullBatch:
    """Every row at every step."""

    def __init__(self, rows: Rows) -> None:
        self._batch = rows.batch(*rows.by_task)

    def draw(self, noise: Uniform) -> Batch:
        return self._batch


class GroupedBatches:
    """``per_group`` rows of every group of every task.

    The groups are the classes (the paper's balanced batches), or the whole task in regression. Rows are
    drawn without replacement, and repeat only where a group has fewer than ``per_group``.
    """

    def __init__(self, rows: Rows, per_group: int) -> None:
        self.rows, self.per_group = rows, per_group
        group = rows.task * rows.n_classes + rows.label
        members, mask = group_table(group, rows.n_tasks * rows.n_classes)
        shape = (rows.n_tasks, rows.n_classes, -1)
        self._members, self._mask = members.view(shape), mask.view(shape)  # (T, G, M)
        count = self._mask.sum(-1, keepdim=True).clamp_min(1)  # (T, G, 1)
        self._position = torch.arange(per_group, device=group.device) % count  # (T, G, per_group)
        present = self._mask.any(-1, keepdim=True).expand_as(self._position)
        self._present = present.reshape(rows.n_tasks, -1)

    def draw(self, noise: Uniform) -> Batch:
        keys = noise.uniform(*self._mask.shape).masked_fill(~self._mask, torch.inf)
        order = keys.argsort(-1).gather(-1, self._position)  # (T, G, per_group)
        index = self._members.gather(-1, order).reshape(self.rows.n_tasks, -1)  # (T, N)
        return self.rows.batch(index, self._present)


def make_sampler(rows: Rows, batch_rows: int) -> Sampler:
    """The full batch, or the paper's balanced batches.

    Regression has no classes: ``REGRESSION_ROWS`` times as many rows, uniform over each task, the size that a
    balanced batch would have over the ten angles of Rotated MNIST.
    """
    if batch_rows == 0:
        return FullBatch(rows)
    return GroupedBatches(rows, batch_rows if rows.is_classification else REGRESSION_ROWS * batch_rows)
