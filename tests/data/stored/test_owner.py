"""Who owns parts of a folder says sums and rows of them, and computes features once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import torch

from helpers.folders import labelled, write_folder
from vmtl.data.rows import Rows, Sums
from vmtl.data.stored import parquet_folder
from vmtl.data.stored.owner import Owner, Stage, add_up
from vmtl.data.stored.parquet_folder import ParquetFolder

pytest.importorskip("pyarrow", reason="Parquet is an extra: pip install vmtl[tables]")
TABLE = labelled(100, 2)


def read(frame: pd.DataFrame, first: int) -> Rows:
    x, y = torch.tensor(frame[list("abcd")].to_numpy()), torch.tensor(frame["y"].to_numpy())
    task = torch.tensor([("aachen", "bonn", "celle").index(site) for site in frame["site"]])
    return Rows(x, y, task, torch.arange(first, first + len(y), dtype=torch.float64), 3, 2, True)


def sums(rows: Rows) -> Sums:
    return torch.tensor(len(rows.y)), rows.weight @ rows.x


@pytest.fixture
def owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Owner:
    """Of the parts of two files of three."""
    monkeypatch.setattr(parquet_folder, "BLOCK_ROWS", 8)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source = ParquetFolder.open(write_folder(tmp_path / "rows", TABLE, group_rows=20))
    return Owner([part for part in source.parts if part.file.stem != "1"], "scratch")


#: The rows of the first and the third file; ``numpy.array_split`` gives the first one more.
MINE = torch.tensor([*range(34), *range(67, 100)])


def test_a_sum_is_over_its_own_rows(owner: Owner) -> None:
    count, total = owner.total(Stage(tuple(TABLE), read), sums)
    whole = read(TABLE, 0)
    assert int(count) == len(MINE)
    torch.testing.assert_close(total, sum(n * whole.x[n] for n in MINE))


@pytest.mark.parametrize("function", [None, torch.square])
def test_rows_are_found_by_number_where_they_are(owner: Owner, function: Callable[..., torch.Tensor] | None) -> None:
    whole = read(TABLE, 0) if function is None else read(TABLE, 0).map_columns(function)
    taken = owner.take(Stage(tuple(TABLE), read, function), torch.tensor([99, 5, 40, 70, 4]))
    assert sorted(torch.cat([numbers for numbers, _ in taken]).tolist()) == [4, 5, 70, 99]  # 40 is with another
    for numbers, rows in taken:
        for name in ("x", "y", "task", "weight"):
            assert torch.equal(getattr(rows, name), getattr(whole.take(numbers), name))
        assert (rows.n_tasks, rows.n_classes, rows.is_classification) == (3, 2, True)


def test_features_are_computed_once_and_kept_by_task_until_the_end(owner: Owner) -> None:
    asked = []

    def square(x: torch.Tensor) -> torch.Tensor:
        asked.append(len(x))
        return x.square()

    def by_task(rows: Rows) -> Sums:
        assert len(rows.task.unique_consecutive()) == len(rows.task.unique())
        return sums(rows)

    stage = Stage(tuple(TABLE), read, square)
    first, again = owner.total(stage, by_task), owner.total(stage, by_task)
    assert sum(asked) == len(MINE)
    assert torch.equal(first[1], again[1])
    torch.testing.assert_close(first[1], sum(n * read(TABLE, 0).x[n].square() for n in MINE))
    assert list(owner.scratch.iterdir())
    owner.close()
    assert not owner.scratch.exists()


def test_sums_add_up_part_by_part() -> None:
    assert add_up([(1, 10.0), (2, 20.0), (3, 30.0)]) == (6, 60.0)
    with pytest.raises(ValueError, match="shorter"):
        add_up([(1, 2), (1,)])
