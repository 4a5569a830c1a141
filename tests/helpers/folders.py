"""Folders of Parquet files, and workers that are killed: where the processes of a Ray cluster can import them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from vmtl.cli._support.folders import FilePrediction
from vmtl.data.rows import Sums


def labelled(n_rows: int, classes: int, n_tasks: int = 3, seed: int = 0) -> pd.DataFrame:
    """Four columns, a site and a target: a number, or one of some classes."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=list("abcd"))
    site = rng.integers(0, n_tasks, n_rows)
    slopes = rng.normal(size=(4, max(1, classes))) + 0.5 * rng.normal(size=(n_tasks, 4, max(1, classes)))
    signal = np.einsum("nk,nkc->nc", table.to_numpy(), slopes[site])
    table["site"] = np.array(["bonn", "aachen", "celle"])[site] if n_tasks == 3 else site
    table["y"] = (
        (signal + rng.gumbel(size=signal.shape)).argmax(1) if classes else signal[:, 0] + rng.normal(size=n_rows)
    )
    return table


def write_folder(folder: Path, table: pd.DataFrame, files: int = 3, group_rows: int = 70) -> Path:
    """The rows in order, in so many files with row groups of so many rows; the last file lies in a folder below."""
    (folder / "more").mkdir(parents=True)
    for number, rows in enumerate(np.array_split(np.arange(len(table)), files)):
        name = f"more/{number}.parquet" if number == files - 1 else f"{number}.parquet"
        table.iloc[rows].to_parquet(folder / name, index=False, row_group_size=group_rows)
    return folder


@dataclass(frozen=True)
class DieOnce:
    """Says what ``part`` says, but kills its own process at the second block, once in all."""

    part: Callable[[Any], Sums]
    flag: Path

    def __call__(self, rows: Any) -> Sums:
        started = self.flag.with_suffix(f".{os.getpid()}")
        if started.exists() and not self.flag.exists():
            self.flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        started.touch()
        return self.part(rows)


@dataclass(frozen=True)
class FragilePrediction(FilePrediction):
    """Kills its own process with half a file written, once in all."""

    def _predicted(self, fitted: Any, file: Path) -> Iterator[Any]:
        flag = self.model.with_suffix(".killed")
        for table in super()._predicted(fitted, file):
            yield table
            if not flag.exists():
                flag.touch()
                os.kill(os.getpid(), signal.SIGKILL)
