"""Checkpoints of a run: written all or nothing, resumed bit by bit, one writer at a time."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from vmtl import persistence
from vmtl.problem import Array
from vmtl.training import Progress, Trainer


class CheckpointError(RuntimeError):
    """A checkpoint folder that cannot be used for this run."""


def fingerprint(parameters: dict[str, Any], arrays: list[Array]) -> str:
    """What identifies a run: its settings and its data."""
    digest = hashlib.sha256(json.dumps(parameters, sort_keys=True, default=repr).encode())
    for array in arrays:
        digest.update(repr((array.dtype.str, array.shape)).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


class Checkpoint:
    """A folder with the last good state of one run, used as a context manager that holds its lock."""

    def __init__(self, folder: str | Path, run: str, every_seconds: float = 5.0) -> None:
        self.folder, self.run, self.every = Path(folder), run, every_seconds
        self.file = self.folder / "state.vmtl-checkpoint"
        self._written = time.monotonic()
        self._lock: int | None = None

    def __enter__(self) -> Checkpoint:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.folder / "lock", os.O_CREAT | os.O_RDWR, 0o644)
        except OSError as error:
            reason = error.strerror or str(error)
            raise CheckpointError(
                f"Cannot write checkpoints to {self.folder}: {reason}; give another folder."
            ) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            self._lock = None
            raise CheckpointError(f"Another run is writing to {self.folder}; give each run its own folder.") from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def resume(self, trainer: Trainer) -> None:
        """Continue from the folder's state, if it has one."""
        if not self.file.exists():
            return
        payload, tensors = persistence.load(self.file, "checkpoint")
        if payload["run"] != self.run:
            raise CheckpointError(
                f"{self.folder} holds the checkpoint of a run with other data or settings; "
                "give an empty folder, or repeat the call that made it."
            )
        trainer.restore(payload, tensors)

    def __call__(self, trainer: Trainer, progress: Progress) -> None:
        """Write if enough time has passed, and after the last step."""
        if time.monotonic() - self._written < self.every and progress.step < progress.total:
            return
        payload, tensors = trainer.state()
        try:
            persistence.save(self.file, "checkpoint", {**payload, "run": self.run}, tensors)
        except OSError as error:
            reason = error.strerror or str(error)
            raise CheckpointError(
                f"Cannot write the checkpoint {self.file}: {reason}; the last good one is kept; "
                "free some space and repeat the call."
            ) from None
        self._written = time.monotonic()
