"""A folder belongs to one run: to its settings and rows, and to one writer at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from helpers.paper_models import SMALL
from helpers.toys import toy
from vmtl._utils import tensor_files
from vmtl.paper.fit import fit
from vmtl.paper.fitted import FittedVMTL
from vmtl.paper.methods import METHODS
from vmtl.paper.training import checkpoints
from vmtl.paper.training.checkpoints import Checkpoint, CheckpointError, fingerprint
from vmtl.paper.training.run import Callbacks
from vmtl.paper.training.training import Progress, Trainer

ROWS = np.arange(10_000.0).reshape(5_000, 2)


def test_settings_and_every_row_are_part_of_the_fingerprint() -> None:
    known = fingerprint({"steps": 3}, [ROWS])
    assert fingerprint({"steps": 3}, [ROWS.copy()]) == known
    changed = ROWS.copy()
    changed[-1, -1] += 1
    others = [fingerprint({"steps": 4}, [ROWS]), fingerprint({"steps": 3}, [changed])]
    others += [fingerprint({"steps": 3}, [ROWS.astype(np.float32)]), fingerprint({"steps": 3}, [ROWS.reshape(2, -1)])]
    assert len({known, *others}) == 5


def test_two_runs_cannot_write_to_one_folder(tmp_path: Path) -> None:
    with Checkpoint(tmp_path, "run", 1), pytest.raises(CheckpointError, match="Another run is writing"):
        Checkpoint(tmp_path, "run", 1).__enter__()
    with Checkpoint(tmp_path, "run", 1):
        pass  # the folder is free again


def test_a_seed_that_is_free_is_taken_over_and_another_run_is_refused(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, "run", 1)
    tensor_files.save(checkpoint.file, "checkpoint", {"run": "run", "seed": 7}, {})
    with Checkpoint(tmp_path, "run", 1, free_seed=True) as free:
        assert free.seed == 7
    for run, seed in (("run", 1), ("other", 7)):
        with pytest.raises(CheckpointError, match="other data or settings"):
            Checkpoint(tmp_path, run, seed).__enter__()


def test_what_a_killed_run_left_half_written_is_swept_and_a_broken_file_is_told(tmp_path: Path) -> None:
    file = Checkpoint(tmp_path, "run", 1).file
    file.write_bytes(b"no checkpoint")
    with pytest.raises(CheckpointError, match=r"cannot be read .* delete the folder to start again"):
        Checkpoint(tmp_path, "run", 1).__enter__()
    file.unlink()
    with Checkpoint(tmp_path, "run", 1) as checkpoint:
        assert checkpoint.seed == 1


def test_a_fit_goes_on_from_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped after seven steps, it takes the other three and ends where one that was not stopped does."""
    monkeypatch.setattr(checkpoints, "EVERY_SECONDS", 0.0)
    rows, settings = toy([8, 9, 7], classes=3).rows(torch.float32), replace(SMALL, max_steps=10)
    steps: list[int] = []

    def interrupt(trainer: Trainer, progress: Progress) -> None:
        steps.append(progress.step)
        if len(steps) == 7:
            raise KeyboardInterrupt

    def run() -> FittedVMTL:
        with Checkpoint(tmp_path / "run", "run", 0) as checkpoint:
            callbacks = Callbacks(checkpoint.resume, [checkpoint, interrupt])
            return fit(METHODS["vmtl"], settings, rows, 0, callbacks=callbacks)

    with pytest.raises(KeyboardInterrupt):
        run()
    resumed, whole = run(), fit(METHODS["vmtl"], settings, rows, 0)
    assert steps == list(range(1, 11))
    for name, tensor in whole.to_tensors().items():
        assert torch.equal(resumed.to_tensors()[name], tensor), name


def test_the_checkpoint_of_another_method_is_refused(tmp_path: Path) -> None:
    rows, settings = toy([8, 9, 7], classes=3).rows(torch.float32), replace(SMALL, max_steps=2)
    for method in ("bmtl", "vmtl"):
        with Checkpoint(tmp_path, "run", 0) as checkpoint:
            callbacks = Callbacks(checkpoint.resume, [checkpoint])
            if method == "bmtl":
                fit(METHODS[method], settings, rows, 0, callbacks=callbacks)
            else:
                with pytest.raises(CheckpointError, match=r"(?s)does not fit this run .* delete the folder"):
                    fit(METHODS[method], settings, rows, 0, callbacks=callbacks)
