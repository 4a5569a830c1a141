"""What is said of tasks that were not in training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vmtl._utils.messages import first_few
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
