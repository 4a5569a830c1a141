"""Early stopping: what is held out, when it stops, and which weights remain."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from helpers.paper_models import SMALL, build
from helpers.toys import toy
from vmtl.paper.training.early_stopping import EarlyStopping, StopTraining, hold_out
from vmtl.paper.training.training import Progress, Trainer

DATA = toy([40, 40, 3], classes=4)


def test_the_hold_out_takes_a_fifth_of_every_task_and_class() -> None:
    train, held = hold_out(DATA.rows(), seed=0)
    assert len(held.y) + len(train.y) == 83
    assert torch.bincount(held.task * 4 + held.y, minlength=12).tolist() == [2] * 8 + [0] * 4
    assert (train.class_mask == DATA.rows().class_mask).all()
    assert not torch.equal(hold_out(DATA.rows(), seed=1)[1].x, held.x)
    assert torch.equal(hold_out(DATA.rows(), seed=0)[1].x, held.x)


def test_too_few_rows_to_hold_any_out_are_an_error() -> None:
    with pytest.raises(ValueError, match="at least 5 rows"):
        hold_out(toy([4, 4], classes=4).rows(), seed=0)


def test_it_stops_after_patience_and_the_best_weights_come_back() -> None:
    rows = DATA.rows()
    trainer = Trainer(build("bmtl", rows, replace(SMALL, encoder="linear", max_steps=50)), rows, seed=0)
    stopper = EarlyStopping(rows, patience=3)
    best = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    stopper(trainer, Progress(1, 50, 0, 0, 0, 0))
    with torch.no_grad():
        trainer.model.head.mean.mul_(-100)  # far worse
    for step in (2, 3):
        stopper(trainer, Progress(step, 50, 0, 0, 0, 0))
    with pytest.raises(StopTraining):
        stopper(trainer, Progress(4, 50, 0, 0, 0, 0))
    stopper.finish(trainer)
    assert all(torch.equal(value, best[name]) for name, value in trainer.model.state_dict().items())


def test_it_looks_fifty_times_per_run() -> None:
    rows = DATA.rows()
    trainer = Trainer(build("bmtl", rows, SMALL), rows, seed=0)
    stopper = EarlyStopping(rows)
    stopper(trainer, Progress(3, 500, 0, 0, 0, 0))
    assert "best" not in trainer.extras
    stopper(trainer, Progress(10, 500, 0, 0, 0, 0))
    assert "best" in trainer.extras
