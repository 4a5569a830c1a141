"""Checkpoints of a run: written all or nothing, resumed bit by bit, one writer at a time."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from filelock import FileLock, Timeout
from torch import Tensor

from vmtl._utils import tensor_files
from vmtl._utils.atomic_files import temporary_prefix
from vmtl._utils.json_values import Document
from vmtl._utils.types import Array
from vmtl.paper.training.training import Progress, Trainer

#: Seconds between two checkpoints; the last step always writes one.
EVERY_SECONDS = 5.0
_ROWS = 4096


class CheckpointError(RuntimeError):
    """A checkpoint folder that cannot be used for this run."""


def fingerprint(parameters: Mapping[str, object], arrays: Sequence[Array]) -> str:
    """What identifies a run: its settings and its data."""
    digest = hashlib.sha256(json.dumps(parameters, sort_keys=True, default=repr).encode())
    for array in arrays:
        digest.update(repr((array.dtype.str, array.shape)).encode())
        for start in range(0, len(array), _ROWS):
            digest.update(array[start : start + _ROWS].tobytes())
    return digest.hexdigest()


class Checkpoint:
    """A folder with the last good state of one run, used as a context manager that holds its lock.

    ``seed`` is the run's seed; if it is free (nobody chose it), an interrupted run's seed is taken over.
    """

    def __init__(self, folder: str | Path, run: str, seed: int, *, free_seed: bool = False) -> None:
        self.folder, self.run, self.seed, self.free_seed = Path(folder), run, seed, free_seed
        self.file = self.folder / "state.vmtl-checkpoint"
        self._stored: tuple[Document, dict[str, Tensor]] | None = None
        self._written = time.monotonic()
        self._lock = FileLock(self.folder / "lock")

    def __enter__(self) -> Checkpoint:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout:
            raise CheckpointError(f"Another run is writing to {self.folder}; give each run its own folder.") from None
        except OSError as error:
            raise CheckpointError(
                f"Cannot write checkpoints to {self.folder}: {_reason(error)}; give another folder."
            ) from None
        try:
            self._sweep()
            self._read()
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def _sweep(self) -> None:
        """Remove what a killed run left half-written."""
        for stale in self.folder.glob(f"{temporary_prefix(self.file)}*.tmp"):
            with suppress(OSError):
                stale.unlink()

    def _read(self) -> None:
        if not self.file.exists():
            return
        try:
            payload, tensors = tensor_files.load(self.file, "checkpoint")
            run, seed = payload["run"], int(payload["seed"])
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"The checkpoint in {self.folder} cannot be read ({error}); delete the folder to start again."
            ) from None
        if run != self.run or (seed != self.seed and not self.free_seed):
            raise CheckpointError(
                f"{self.folder} holds the checkpoint of a run with other data or settings; "
                "give an empty folder, or repeat the call that made it."
            )
        self.seed, self._stored = seed, (payload, tensors)

    def resume(self, trainer: Trainer) -> None:
        """Continue from the folder's state, if it had one when it was entered."""
        if self._stored is None:
            return
        try:
            trainer.restore(*self._stored)
        except (KeyError, TypeError, ValueError, RuntimeError, AttributeError) as error:
            raise CheckpointError(
                f"The checkpoint in {self.folder} does not fit this run ({error}); delete the folder to start again."
            ) from None
        self._stored = None

    def __call__(self, trainer: Trainer, progress: Progress) -> None:
        """Write if enough time has passed, and after the last step."""
        if time.monotonic() - self._written < EVERY_SECONDS and progress.step < progress.total:
            return
        payload, tensors = trainer.state()
        try:
            tensor_files.save(self.file, "checkpoint", {**payload, "run": self.run, "seed": self.seed}, tensors)
        except OSError as error:
            raise CheckpointError(
                f"Cannot write the checkpoint {self.file}: {_reason(error)}; the last good one is kept; "
                "free some space and repeat the call."
            ) from None
        self._written = time.monotonic()


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
