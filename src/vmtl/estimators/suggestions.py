"""Which rows to have labelled next."""

from __future__ import annotations

from collections.abc import Hashable
from numbers import Integral
from typing import Any

import numpy as np

from vmtl._utils.messages import counted, did_you_mean, quoted
from vmtl._utils.progress_bar import progress_bar
from vmtl._utils.types import Array


def suggest_rows(
    fitted: Any, x: Array, codes: Array, offered: Array, n: int, *, seed: int, visible: bool = False
) -> Array:
    """(n,) numbers of rows among ``offered``, the one that tells most first.

    Parameters
    ----------
    fitted : FittedGP
        The fitted model.
    x : ndarray of shape (n_rows, D)
        All rows.
    codes : ndarray of shape (n_rows,)
        Their tasks.
    offered : ndarray of row numbers
        Which of them may be chosen.
    n : int
        How many to choose.
    seed : int
        Of the rows that stand for all others where there are many.
    visible : bool, default=False
        Whether a progress bar is shown.
    """
    if not isinstance(n, Integral) or n < 1:
        raise ValueError(f"n is {n!r}; ask for one row or more.")
    rows, tasks = x[offered], codes[offered]
    different = len(np.unique(np.column_stack([rows, tasks]), axis=0))
    if n > different:
        raise ValueError(f"n is {n}, but there are {counted(different, 'different row')} to choose from.")
    chosen = []
    with progress_bar("Choosing", n, visible=visible) as show:
        for place in fitted.suggest(rows, tasks, int(n), seed):
            chosen.append(int(place))
            show()
    numbers: Array = offered[np.array(chosen, dtype=np.int64)]
    return numbers


def offered_rows(codes: Array, known: list[Hashable], task: Hashable | None) -> Array:
    """Numbers of the rows that may be chosen: those of one task, or all if it is None."""
    if task is None:
        return np.arange(len(codes))
    if task not in known:
        raise ValueError(f"Unknown task {task!r}{did_you_mean(task, known)}; the model knows {quoted(known, 20)}.")
    offered = np.flatnonzero(codes == known.index(task))
    if not len(offered):
        raise ValueError(f"X has no rows of task {task!r}; give some to choose from.")
    return offered
