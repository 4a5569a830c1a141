"""The rows of a folder in place of rows in memory: they are asked for sums, and some of them are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from vmtl.data.rows import Rows, Sums
from vmtl.data.stored.crews import Crew
from vmtl.data.stored.owner import Stage

if TYPE_CHECKING:
    import pandas as pd

#: Rows among which those are chosen that are looked at one by one, about; and of each task at least about so many.
POOL_ROWS, TASK_ROWS = 2_000_000, 50


@dataclass(frozen=True)
class StoredRows(Rows):
    """Rows of a folder. ``x`` is empty; ``y``, ``task`` and ``weight`` are those of the pool, rows that can be taken.

    Up to ``POOL_ROWS`` all rows are in the pool, and numbers of rows are what they would be in memory.
    """

    number: Tensor  # (n,) of the rows of the pool in the folder
    cells: Tensor  # (T, C) the weight of all rows of each task and class; in a regression C = 1
    squares: Tensor  # () the sum of their squared weights
    crew: Crew
    stage: Stage

    @cached_property
    def task_weight(self) -> Tensor:
        return self.cells.sum(1).to(self.weight)

    @cached_property
    def unit(self) -> float:
        return float(self.squares / self.cells.sum())

    @cached_property
    def class_mask(self) -> Tensor:
        return self.cells > 0

    def total(self, part: Callable[[Rows], Sums]) -> Sums:
        return self.crew.total(self.stage, part)

    def take(self, index: Tensor) -> Rows:
        return self.crew.take(self.stage, self.number[index])

    def map_columns(self, function: Callable[[Tensor], Tensor]) -> Rows:
        return replace(self, x=function(self.x), stage=replace(self.stage, function=function))

    def cpu(self) -> Rows:
        return self


@dataclass(frozen=True)
class PoolOfBlock:
    """What is known of the rows of a block: as a sum, so that blocks add up."""

    chance: Tensor  # (T,) with which a row of a task is in the pool

    def __call__(self, numbered: tuple[int, Rows]) -> tuple[list[Tensor], Tensor, Tensor]:
        """One table (5, n) of the rows in the pool, the weight of each task and class (T, C), and of its squares ()."""
        first, rows = numbered
        number, weight = torch.arange(first, first + len(rows.y)), rows.weight.double()
        kept = (even_hash(number) < self.chance[rows.task]).nonzero().flatten()
        cell = rows.task * rows.n_classes + rows.label
        cells = torch.zeros(rows.n_tasks * rows.n_classes, dtype=torch.float64).index_add(0, cell, weight)
        table = torch.stack([number.double(), rows.y.double(), rows.task.double(), weight])[:, kept]
        return [table], cells.view(rows.n_tasks, rows.n_classes), weight.square().sum()


def pool_chance(counts: Tensor) -> Tensor:
    """(T,) with which chance a row is in the pool, where tasks have ``counts`` (T,) rows; 1 if all fit in."""
    n_rows = int(counts.sum())
    if n_rows <= POOL_ROWS:
        return torch.ones(len(counts), dtype=torch.float64)
    return (TASK_ROWS / counts.double()).clamp_min(POOL_ROWS / n_rows)


def even_hash(number: Tensor) -> Tensor:
    """(n,) numbers in [0, 1) that look random and depend on the row's number alone (SplitMix64)."""
    mixed = number.numpy().astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return torch.from_numpy((mixed ^ (mixed >> np.uint64(31))).astype(np.float64) / 2.0**64)


def stored_rows(crew: Crew, stage: Stage, counts: Tensor, example: Rows) -> StoredRows:
    """The rows that ``stage`` reads; ``counts`` (T,) = how many each task has, ``example`` = a few of them."""
    numbered = replace(stage, decode=Numbered(stage.decode))
    tables, cells, squares = crew.total(numbered, PoolOfBlock(pool_chance(counts)))
    table = torch.cat(tables, 1)
    number, order = table[0].long().sort()
    y, task, weight = table[1:, order]
    return StoredRows(
        example.x[:0],
        y.to(example.y),
        task.long(),
        weight.to(example.weight),
        example.n_tasks,
        example.n_classes,
        example.is_classification,
        number,
        cells,
        squares,
        crew,
        stage,
    )


@dataclass(frozen=True)
class Numbered:
    """Rows with the number of the first."""

    decode: Callable[[pd.DataFrame, int], Rows]

    def __call__(self, frame: pd.DataFrame, first: int) -> tuple[int, Rows]:
        return first, self.decode(frame, first)
