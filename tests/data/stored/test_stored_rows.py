"""Rows of a folder in place of rows in memory: the same rows by number, the same sums, little memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from helpers.folders import labelled, write_folder
from vmtl.data.rows import Rows, Sums
from vmtl.data.stored import parquet_folder, stored_rows
from vmtl.data.stored.crews import LocalCrew
from vmtl.data.stored.owner import Stage
from vmtl.data.stored.parquet_folder import ParquetFolder
from vmtl.data.stored.stored_rows import StoredRows, even_hash, pool_chance

pytest.importorskip("pyarrow", reason="Parquet is an extra: pip install vmtl[tables]")
SITES = ("aachen", "bonn", "celle")


def read(frame: pd.DataFrame, first: int) -> Rows:
    x, y = torch.tensor(frame[list("abcd")].to_numpy()), torch.tensor(frame["y"].to_numpy())
    task = torch.tensor([SITES.index(site) for site in frame["site"]])
    return Rows(x, y, task, torch.ones(len(y), dtype=torch.float64), 3, 2, True)


def sums(rows: Rows) -> Sums:
    return torch.tensor(len(rows.y)), rows.x.sum(0), rows.y.sum()


def double(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


@dataclass(frozen=True)
class Opened:
    table: pd.DataFrame
    rows: StoredRows
    crew: LocalCrew


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opened:
    monkeypatch.setattr(parquet_folder, "BLOCK_ROWS", 32)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    table = labelled(300, 2)
    source = ParquetFolder.open(write_folder(tmp_path / "rows", table))
    crew, counts = LocalCrew(source.parts, "scratch"), torch.tensor([(table["site"] == site).sum() for site in SITES])
    return Opened(table, stored_rows.stored_rows(crew, Stage(tuple(table), read), counts, read(table.head(1), 0)), crew)


@pytest.mark.parametrize("mapped", [False, True])
def test_rows_and_sums_are_those_in_memory(opened: Opened, mapped: bool, tmp_path: Path) -> None:
    whole, rows = read(opened.table, 0), opened.rows
    if mapped:
        whole, rows = whole.map_columns(double), rows.map_columns(double)
    assert len(rows.y) == 300
    for some in (torch.tensor([3, 150, 299]), torch.tensor([7, 2, 250]), torch.arange(300)):
        found, expected = rows.take(some), whole.take(some)
        for name in ("x", "y", "task", "weight"):
            assert torch.equal(getattr(found, name), getattr(expected, name))
    for found, expected in zip(rows.total(sums), sums(whole), strict=True):
        torch.testing.assert_close(found, expected)
    assert torch.equal(rows.task_weight, whole.task_weight)
    assert torch.equal(rows.class_mask, whole.class_mask)
    assert rows.unit == whole.unit
    assert rows.x.shape == (0, 4)
    assert (tmp_path / "scratch").exists() == mapped
    opened.crew.close()
    assert not (tmp_path / "scratch").exists()


def test_no_room_on_the_disk_is_one_sentence(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "scratch").touch()
    with pytest.raises(OSError, match="set TMPDIR to a folder with more room"):
        opened.rows.map_columns(double).total(sums)


def test_every_task_is_in_the_pool() -> None:
    counts = torch.tensor([100_000_000, 30, 1_000_000])
    chance = pool_chance(counts)
    assert float(chance[1]) >= 1  # all of a small task
    assert float(chance @ counts.double()) < 2.1e6
    assert float(chance[2] * counts[2]) > 1000
    assert pool_chance(torch.tensor([5, 9])).tolist() == [1, 1]


def test_numbers_of_rows_are_hashed_evenly() -> None:
    found = even_hash(torch.arange(100_000)).numpy()
    assert 0 <= found.min() < found.max() < 1
    assert np.abs(np.histogram(found, 10, (0, 1))[0] - 10_000).max() < 400
    assert abs(np.corrcoef(found[:-1], found[1:])[0, 1]) < 0.02
