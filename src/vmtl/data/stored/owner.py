"""Who owns parts of a folder reads them, block by block, and says sums of them or some of their rows."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from vmtl.data.rows import Rows, Sums
from vmtl.data.stored.parquet_folder import Part
from vmtl.data.task_blocks import task_order

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Stage:
    """What is made of a block: of a frame and the number of its first row, then of the columns of its rows.

    What ``function`` makes of the columns is computed once and kept on disk.
    """

    columns: tuple[str, ...]
    decode: Callable[[pd.DataFrame, int], Any]  # to rows, or to whatever a sum is made from
    function: Callable[[Tensor], Tensor] | None = None  # (n, D) to (n, F)


class Owner:
    """Some parts of a folder. It remembers nothing that it could not read or compute again.

    Parameters
    ----------
    parts : sequence of Part
        What it owns.
    scratch : str
        Name of a folder, below this machine's folder of temporary files, that it may fill.
    """

    def __init__(self, parts: Sequence[Part], scratch: str) -> None:
        self.parts, self.scratch = parts, Path(tempfile.gettempdir()) / scratch
        self._kept: dict[int, list[Path]] = {}  # blocks on disk, by the first row of their part

    def total(self, stage: Stage, part: Callable[[Any], Sums]) -> Sums:
        """The sum over all blocks of what ``part`` says of each."""
        return add_up(part(rows) for own in self.parts for _, rows in self._blocks(own, stage))

    def take(self, stage: Stage, numbers: Tensor) -> list[tuple[Tensor, Rows]]:
        """The rows of these numbers that are here, each time with their numbers."""
        taken = []
        for own in self.parts:
            if not bool(((numbers >= own.first) & (numbers < own.first + own.n_rows)).any()):
                continue
            for number, rows in self._blocks(own, stage):
                wanted = torch.isin(number, numbers).nonzero().flatten()
                if len(wanted):
                    taken.append((number[wanted], rows.take(wanted)))
        return taken

    def close(self) -> None:
        """Remove what was kept on disk."""
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _blocks(self, own: Part, stage: Stage) -> Iterator[tuple[Tensor, Any]]:
        """The blocks of a part, with the numbers of their rows (n,)."""
        if stage.function is None:
            for first, frame in own.frames(stage.columns):
                yield torch.arange(first, first + len(frame)), stage.decode(frame, first)
            return
        if own.first not in self._kept:
            self._kept[own.first] = [self._keep(*block, stage.function) for block in self._raw(own, stage)]
        for file in self._kept[own.first]:
            stored = load_file(file)
            number, (n_tasks, n_classes, kind) = stored.pop("number"), stored.pop("shape").tolist()
            yield number, Rows(**stored, n_tasks=n_tasks, n_classes=n_classes, is_classification=bool(kind))

    def _raw(self, own: Part, stage: Stage) -> Iterator[tuple[Tensor, Rows]]:
        return self._blocks(own, Stage(stage.columns, stage.decode))

    def _keep(self, number: Tensor, rows: Rows, function: Callable[[Tensor], Tensor]) -> Path:
        """Write rows with ``function`` of their columns to disk, by task, and say where."""
        order = task_order(rows)
        mapped = rows.take(order).map_columns(function)
        shape = torch.tensor([rows.n_tasks, rows.n_classes, int(rows.is_classification)])
        tensors = {"x": mapped.x, "y": mapped.y, "task": mapped.task, "weight": mapped.weight}
        tensors |= {"number": number[order], "shape": shape}
        file = self.scratch / f"{int(number[0])}.safetensors"
        half = file.with_suffix(f".{os.getpid()}")
        try:
            self.scratch.mkdir(parents=True, exist_ok=True)
            save_file({name: value.contiguous() for name, value in tensors.items()}, half)
        except Exception as error:
            raise OSError(
                f"Features cannot be kept in {self.scratch} ({error}); they need {mapped.x[0].nbytes / 1024:.1f} kB a "
                "row: set TMPDIR to a folder with more room."
            ) from error
        os.replace(half, file)
        return file


def add_up(several: Iterable[Sums]) -> Sums:
    """Sums of sums, in the order in which they come."""
    total: Sums | None = None
    for sums in several:
        total = sums if total is None else tuple(a + b for a, b in zip(total, sums, strict=True))
    assert total is not None
    return total
