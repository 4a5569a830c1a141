"""Some of many rows: at random so that every task keeps its share, or evenly spaced."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from vmtl._utils.types import Array
from vmtl.data.rows import Rows


def subsample_rows(rows: Rows, limit: int, seed: int, turns: Tensor | None = None) -> Tensor:
    """Numbers of at most ``limit`` random rows; of more than 20 tasks only some, up to a 20th of the limit each.

    ``turns`` (T,) says in which order tasks are taken; without it, at random.
    """
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(rows.y), generator=generator)
    if len(order) <= limit or rows.n_tasks <= 20:
        return order[:limit].sort().values
    turns = torch.randperm(rows.n_tasks, generator=generator) if turns is None else turns
    turn = turns[rows.task[order]]  # of each row's task
    turn, by_task = turn.sort(stable=True)
    counts = torch.bincount(turn, minlength=rows.n_tasks)
    rank = torch.arange(len(turn)) - (counts.cumsum(0) - counts)[turn]  # of a row in its task
    return order[by_task[rank < max(2, limit // 20)][:limit]].sort().values


def rank_in_task(task: Tensor, seed: int) -> Tensor:
    """(n,) the place of each row among those of its task, in random order."""
    order = torch.randperm(len(task), generator=torch.Generator().manual_seed(seed))
    by_task = order[task[order].argsort(stable=True)]
    counts = torch.bincount(task)
    rank = torch.empty_like(task)
    rank[by_task] = torch.arange(len(task)) - (counts.cumsum(0) - counts)[task[by_task]]
    return rank


def subsample_evenly(task: Tensor, limit: int, seed: int) -> Tensor:
    """At most ``limit`` row numbers, the same number from every task as far as it has them."""
    return rank_in_task(task, seed).argsort(stable=True)[:limit].sort().values


def evenly_spaced(n_rows: int, limit: int) -> Array:
    """Numbers of at most ``limit`` of ``n_rows`` rows, the first and the last among them."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, limit)).astype(np.intp))
