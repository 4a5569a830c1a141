"""Rows to predict, in zero-padded blocks of one fixed shape, so that a prediction does not depend on the other rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from vmtl._utils.types import Array

#: A block is CELLS cells of CELL_ROWS rows, each cell of one task.
CELLS, CELL_ROWS = 8, 32


@dataclass(frozen=True)
class PaddedBlock:
    """Some rows, by cells of one task each; cells and places without a row hold zeros, and the task 0."""

    rows: Array  # (m,) numbers of the rows
    place: Tensor  # (m,) where they are, counted through all cells
    x: Tensor  # (CELLS, CELL_ROWS, D)
    task: Tensor  # (CELLS,)


def padded_blocks(x: Array, task: Array, dtype: torch.dtype) -> Iterator[PaddedBlock]:
    """All rows ``x`` (n, D) of the tasks ``task`` (n,), task by task."""
    task = np.asarray(task)
    order = np.argsort(task, kind="stable")
    sorted_task = task[order]
    cell, slot = _cells(sorted_task)
    n_cells = int(cell[-1]) + 1 if len(cell) else 0
    edges = [*np.searchsorted(cell, np.arange(0, n_cells, CELLS)), len(cell)]
    for start, stop in itertools.pairwise(edges):
        inside, at = cell[start:stop] % CELLS, slot[start:stop]
        rows = order[start:stop]
        buffer = torch.zeros(CELLS, CELL_ROWS, x.shape[1], dtype=dtype)  # aligned alike in every call
        buffer.numpy()[inside, at] = x[rows]
        cell_task = np.zeros(CELLS, dtype=np.int64)
        cell_task[inside] = sorted_task[start:stop]
        yield PaddedBlock(rows, torch.from_numpy(inside * CELL_ROWS + at), buffer, torch.from_numpy(cell_task))


def _cells(sorted_task: Array) -> tuple[Array, Array]:
    """The number of the cell of each row, and its place in the cell; a cell ends when it is full or the task does."""
    numbers = np.arange(len(sorted_task))
    is_first = np.ones(len(sorted_task), dtype=bool)
    is_first[1:] = sorted_task[1:] != sorted_task[:-1]
    within_task = numbers - np.maximum.accumulate(np.where(is_first, numbers, 0))
    cell = np.cumsum(is_first | (within_task % CELL_ROWS == 0)) - 1
    return cell, within_task % CELL_ROWS
