"""One run of the loop: callbacks in order, the learning rate's factor, and early stopping."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from helpers.paper_models import SMALL, build
from helpers.toys import toy
from vmtl.paper.training.early_stopping import StopTraining
from vmtl.paper.training.run import Callbacks, train_model
from vmtl.paper.training.training import Progress, Trainer

ROWS = toy([10, 12, 9], classes=2).rows()
SETTINGS = replace(SMALL, encoder="linear", max_steps=4)


def test_callbacks_run_before_the_first_and_after_every_step() -> None:
    seen: list[str] = []
    callbacks = Callbacks(
        before_first_step=lambda trainer: seen.append(f"before {trainer.step}"),
        after_step=[lambda trainer, progress: seen.append(f"after {progress.step}")],
    )
    history = train_model(build("bmtl", ROWS, SETTINGS), ROWS, None, 0, callbacks)
    assert seen == ["before 0", "after 1", "after 2", "after 3", "after 4"]
    assert history.step == [1, 2, 3, 4]


def test_a_hook_may_stop_the_run() -> None:
    def stop(trainer: Trainer, progress: Progress) -> None:
        if progress.step == 2:
            raise StopTraining

    assert train_model(build("bmtl", ROWS, SETTINGS), ROWS, None, 0, Callbacks(after_step=[stop])).step == [1, 2]


def test_rows_held_out_decide_which_weights_remain() -> None:
    """Labels turned round in the hold-out: every step makes them worse, so the first weights stay."""
    turned = replace(ROWS, y=1 - ROWS.y)
    settings = replace(SETTINGS, max_steps=200)
    kept, first = build("bmtl", ROWS, settings), build("bmtl", ROWS, replace(settings, max_steps=200))
    history = train_model(kept, ROWS, turned, 0, Callbacks())
    assert history.step[-1] < 200
    steps = Trainer(first, ROWS, 0)

    def stop(trainer: Trainer, progress: Progress) -> None:
        if progress.step == 4:  # the first look of fifty
            raise StopTraining

    with pytest.raises(StopTraining):
        steps.run([stop])
    assert torch.equal(kept.head.mean, first.head.mean)
