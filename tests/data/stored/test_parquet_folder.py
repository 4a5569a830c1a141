"""A folder of Parquet files is one table: the rows that pandas reads, in the order of the files' names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers.folders import labelled, write_folder
from vmtl.data.stored import parquet_folder
from vmtl.data.stored.parquet_folder import ParquetFolder, parquet_files

pytest.importorskip("pyarrow", reason="Parquet is an extra: pip install vmtl[tables]")


def test_the_blocks_together_are_what_pandas_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_folder, "BLOCK_ROWS", 32)
    source = ParquetFolder.open(write_folder(tmp_path / "rows", labelled(300, 2)))
    frames = [(first, frame) for part in source.parts for first, frame in part.frames(["y", "b"])]
    found = pd.concat([frame for _, frame in frames], ignore_index=True)
    files = sorted((tmp_path / "rows").rglob("*.parquet"))
    expected = pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)
    pd.testing.assert_frame_equal(found[["b", "y"]], expected[["b", "y"]])
    lengths = [len(frame) for _, frame in frames]
    assert [first for first, _ in frames] == [0, *np.cumsum(lengths)[:-1]]
    assert max(lengths) == 32
    assert source.n_rows == 300
    assert sum(part.n_blocks for part in source.parts) == len(frames)
    assert list(source.columns) == list(expected.columns)


def test_features_are_the_columns_that_nobody_named(tmp_path: Path) -> None:
    source = ParquetFolder.open(write_folder(tmp_path / "rows", labelled(30, 2)))
    assert source.features({"y": "target", "b": "drop"}) == ["a", "c", "d", "site"]
    with pytest.raises(
        ValueError, match=r"no column 'sit' \(did you mean 'site'\?\)\. Its columns: .* argument task\."
    ):
        source.features({"y": "target", "sit": "task"})


def test_hidden_files_are_no_rows_wherever_they_lie(tmp_path: Path) -> None:
    """Others may be writing them: names that begin with a dot or an underscore, also of folders."""
    root = write_folder(tmp_path / "rows", labelled(30, 2))
    for name in (".half.parquet", "_temporary/0.parquet", "more/.half.parquet", "more/_temporary/0.parquet"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(b"PAR1")
    (root / "notes.txt").touch()
    assert [file.relative_to(root).as_posix() for file in parquet_files(root)] == [
        "0.parquet",
        "1.parquet",
        "more/2.parquet",
    ]


def test_a_folder_below_a_hidden_one_is_a_folder(tmp_path: Path) -> None:
    """Only what lies in it counts."""
    root = write_folder(tmp_path / "_kept" / ".rows", labelled(30, 2))
    assert ParquetFolder.open(root).n_rows == 30


def test_a_file_that_is_cut_short_after_it_was_opened_is_one_sentence(tmp_path: Path) -> None:
    source = ParquetFolder.open(write_folder(tmp_path / "rows", labelled(30, 2)))
    source.parts[1].file.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(ValueError, match=r"1\.parquet cannot be read as Parquet \(.*\); write it again\.$"):
        list(source.parts[1].frames(["y"]))
