"""Rows by task, in blocks that one batched product goes through and that the processor's cache holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from vmtl.data.rows import Rows

#: Tasks of one block have at most this many times the rows of its smallest.
BLOCK_RATIO = 1.5
#: Rows of a block at most; a task of more has several blocks.
BLOCK_ROWS = 1024


@dataclass(frozen=True)
class TaskBlock:
    """Tasks of about as many rows, padded with rows of weight 0."""

    task: Tensor  # (G,)
    x: Tensor  # (G, M, D)
    y: Tensor  # (G, M)
    weight: Tensor  # (G, M)
    number: Tensor  # (G, M) of the rows, -1 where there is none


def task_order(rows: Rows) -> Tensor:
    """(n,) row numbers by task, those with the most rows first: blocks of such rows need not be copied."""
    counts = torch.bincount(rows.task, minlength=rows.n_tasks)
    by_task = rows.task.argsort(stable=True)
    return by_task[counts[rows.task[by_task]].argsort(descending=True, stable=True)]


def task_blocks(rows: Rows) -> list[TaskBlock]:
    """All rows, by tasks of about as many of them."""
    order = task_order(rows)
    if not torch.equal(order, torch.arange(len(order), device=order.device)):
        rows = rows.take(order)
    counts, task = torch.bincount(rows.task, minlength=rows.n_tasks).sort(descending=True, stable=True)
    counts = counts[: int((counts > 0).sum())]
    first = counts.cumsum(0) - counts  # the tasks' first rows
    groups = [(task[start:stop], counts[start:stop], int(first[start])) for start, stop in _groups(counts.tolist())]
    return [block for group in groups for block in _cut(rows, order, *group)]


def _groups(counts: list[int]) -> Iterator[tuple[int, int]]:
    """First and last task, plus one, of every group of tasks with these falling numbers of rows."""
    start = 0
    for stop in range(1, len(counts) + 1):
        if stop < len(counts):
            alike = counts[stop] * BLOCK_RATIO >= counts[start]
            if alike and (stop + 1 - start) * counts[start] <= BLOCK_ROWS:
                continue
        yield start, stop
        start = stop


def _cut(rows: Rows, order: Tensor, task: Tensor, counts: Tensor, begin: int) -> Iterator[TaskBlock]:
    """The blocks of one group, which begins at a row: a view where its tasks have as many rows, else a padded copy."""
    width, end = int(counts[0]), begin + int(counts.sum())
    if len(task) == 1:
        for low in range(begin, end, BLOCK_ROWS):
            part = slice(low, min(low + BLOCK_ROWS, end))
            yield TaskBlock(task, rows.x[None, part], rows.y[None, part], rows.weight[None, part], order[None, part])
    elif int(counts[-1]) == width:
        shape, part = (len(task), width), slice(begin, end)
        columns = (values[part].view(shape) for values in (rows.y, rows.weight, order))
        yield TaskBlock(task, rows.x[part].view(*shape, -1), *columns)
    else:
        place = torch.arange(width, device=order.device).expand(len(task), width)
        filled = place < counts[:, None]
        row = (begin + (counts.cumsum(0) - counts)[:, None] + place).clamp_max(end - 1)
        weight, number = torch.where(filled, rows.weight[row], 0.0), torch.where(filled, order[row], -1)
        yield TaskBlock(task, rows.x[row], rows.y[row], weight, number)
