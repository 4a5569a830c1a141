"""The task of each row as users name it: one hashable label per row, and its number."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from vmtl._utils.messages import did_you_mean, quoted
from vmtl._utils.types import Array, Unchecked


def task_values(tasks: Unchecked, n_rows: int) -> Array:
    """One hashable task label per row, as an object array.

    A single label, such as ``"north"`` or ``3``, is the task of all rows. In a list, a tuple is one label.
    """
    if is_single_label(tasks):
        tasks = [tasks] * n_rows
    if not hasattr(tasks, "__len__"):
        raise ValueError(f"tasks must be one label per row, a 1-d array; got {tasks!r}.")
    if getattr(tasks, "ndim", 1) != 1:
        raise ValueError(f"tasks must be one label per row, a 1-d array; got {tasks.ndim} dimensions.")
    if len(tasks) != n_rows:
        raise ValueError(f"tasks has {len(tasks)} labels but X has {n_rows} rows; give one label per row.")
    values = np.empty(n_rows, dtype=object)
    for row, value in enumerate(tasks):
        values[row] = value.item() if isinstance(value, np.generic) else value
        if not isinstance(value, Hashable):
            raise ValueError(f"tasks must be hashable labels such as text or numbers; got {value!r}.")
        if value is None or (not isinstance(value, str) and str(value) in ("nan", "NaT", "<NA>")):
            raise ValueError("tasks contains a missing label; give every row a task.")
    return values


def is_single_label(tasks: Unchecked) -> bool:
    """Whether ``tasks`` is one label for all rows rather than one label per row."""
    return isinstance(tasks, str | bytes) or (isinstance(tasks, Hashable) and not isinstance(tasks, Iterable))


def check_no_empty_task(tasks: Unchecked) -> None:
    """A category without rows is a task that cannot be learned."""
    if hasattr(tasks, "cat"):
        empty = [value for value in tasks.cat.categories if not (tasks == value).any()]
        if empty:
            raise ValueError(f"Task {empty[0]!r} has no rows; drop it with tasks.cat.remove_unused_categories().")


def unique_tasks(values: Array) -> list[Hashable]:
    """The distinct task labels, sorted where they can be sorted, else in order of appearance."""
    distinct = list(dict.fromkeys(values.tolist()))
    try:
        return sorted(distinct)
    except TypeError:
        return distinct


def encode_tasks(values: Array, known: Sequence[Hashable], allow_unknown: bool) -> Array:
    """Index of each label in ``known``; unknown ones are -1, or an error that names them."""
    place = {label: index for index, label in enumerate(known)}
    codes = np.array([place.get(value, -1) for value in values], dtype=np.int64)
    if not allow_unknown and (codes < 0).any():
        unknown = unique_tasks(values[codes < 0])
        raise ValueError(
            f"Unknown task {unknown[0]!r}{did_you_mean(unknown[0], known)}; the model knows {quoted(known, most=20)}. "
            "Set unknown_task='average' (--unknown-task average) to predict with all known tasks, or 'similar' with "
            "those that it resembles."
        )
    return codes
