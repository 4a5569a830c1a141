"""One run of the loop, from the first step or a checkpoint to the last step or early stopping."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from vmtl.data.rows import Rows
from vmtl.paper.model import Model
from vmtl.paper.training.early_stopping import EarlyStopping, StopTraining
from vmtl.paper.training.history import History
from vmtl.paper.training.training import Hook, Trainer


@dataclass(frozen=True)
class Callbacks:
    """Functions that are called during a run."""

    before_first_step: Callable[[Trainer], None] | None = None  # may restore a checkpoint
    after_step: Sequence[Hook] = ()


def train_model(
    model: Model,
    rows: Rows,
    held_out: Rows | None,
    seed: int,
    callbacks: Callbacks,
) -> History:
    """Train ``model`` on these rows; with rows held out, the weights that predict them best are kept."""
    trainer = Trainer(model, rows, seed)
    if callbacks.before_first_step is not None:
        callbacks.before_first_step(trainer)
    hooks, stopper = list(callbacks.after_step), None
    if held_out is not None:
        stopper = EarlyStopping(held_out)
        hooks.insert(0, stopper)
    with suppress(StopTraining):
        trainer.run(hooks)
    if stopper is not None:
        stopper.finish(trainer)
    return trainer.history
