"""A folder belongs to one run: to its settings and rows, and to one writer at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vmtl._utils import tensor_files
from vmtl.paper.training.checkpoints import Checkpoint, CheckpointError, fingerprint

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
