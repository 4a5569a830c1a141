"""What is said of tasks that were not in training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vmtl._utils.messages import counted, first_few, quoted
from vmtl.cli._support.console import note

if TYPE_CHECKING:
    from vmtl._utils.types import Array, MatrixLike
    from vmtl.estimators import MultiTaskEstimator

#: Known tasks that are named beside an unknown one, and unknown ones that are named.
MOST_KNOWN, MOST_UNKNOWN = 3, 5


def note_unknown(model: MultiTaskEstimator, X: MatrixLike, tasks: Array, quiet: bool) -> None:
    """One line for each of the first unknown tasks: by which tasks it is predicted."""
    if quiet or model.unknown_task != "similar":
        return
    weights = model.unknown_task_weights(X, tasks=tasks)
    for name, row in weights.head(MOST_UNKNOWN).iterrows():
        strongest = row.sort_values(ascending=False, kind="stable").head(MOST_KNOWN)
        told = ", ".join(f"{known} ({weight:.2f})" for known, weight in strongest.items())
        note(f"Task {name!r} was not in training; its rows resemble {told}.", quiet)
    if len(weights) > MOST_UNKNOWN:
        rest = first_few([repr(name) for name in weights.index[MOST_UNKNOWN:]])
        note(f"Nor were {rest}; each is predicted by the tasks that it resembles.", quiet)


def known_rows(model: MultiTaskEstimator, tasks: Array) -> tuple[Array, list[str]]:
    """Places of the rows whose task was in training, and the sentence on all others; an error if there is none."""
    import numpy as np

    known = {str(task) for task in model.tasks_}
    is_known = np.array([str(task) in known for task in tasks], dtype=bool)
    strange = list(dict.fromkeys(str(task) for task in tasks[~is_known]))
    if not strange:
        return np.arange(len(tasks)), []
    rows, names = counted(int((~is_known).sum()), "row"), quoted(strange, MOST_UNKNOWN)
    of = "a task that was" if len(strange) == 1 else f"{len(strange)} tasks that were"
    if not is_known.any():
        raise ValueError(f"All {rows} are of tasks that were not in training ({names}), so all would be skipped.")
    return np.flatnonzero(is_known), [f"Skipped {rows} of {of} not in training: {names}."]
