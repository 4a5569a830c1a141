"""Records on disk: checksums, torn and damaged lines, one lock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.paper.run.records import FILE, decode, encode, load_records, open_records


def write(folder: Path, *names: str) -> None:
    with open_records(folder) as (writer, _):
        for name in names:
            writer.append({"id": name, "value": 0.1})


def test_a_line_comes_back_as_it_was() -> None:
    record = {"id": "a", "tasks": {"é": {"accuracy": 1 / 3}}, "none": None}
    assert decode(encode(record).rstrip(b"\n")) == record


@pytest.mark.parametrize("position", [0, 3, 17, 25, -2])
def test_any_changed_byte_is_found(position: int) -> None:
    line = bytearray(encode({"id": "a", "value": 0.1}).rstrip(b"\n"))
    line[position] ^= 1
    assert decode(bytes(line)) is None


@pytest.mark.parametrize("kept", [1, 10, 17, 30])
def test_a_torn_last_line_is_reported_dropped_and_written_again(tmp_path: Path, kept: int) -> None:
    write(tmp_path, "a", "b")
    file = tmp_path / FILE
    whole = file.read_bytes()
    first = whole.split(b"\n")[0] + b"\n"
    file.write_bytes(first + whole[len(first) :][:kept])
    loaded = load_records(tmp_path)
    assert list(loaded.records) == ["a"]
    assert "Line 2" in loaded.problems[0]
    write(tmp_path, "b")
    assert file.read_bytes() == whole


def test_damage_in_the_middle_loses_one_job_only(tmp_path: Path) -> None:
    write(tmp_path, "a", "b", "c")
    file = tmp_path / FILE
    file.write_bytes(file.read_bytes().replace(b'"b"', b'"x"'))
    loaded = load_records(tmp_path)
    assert list(loaded.records) == ["a", "c"]
    assert len(loaded.problems) == 1


def test_a_repeated_job_counts_once(tmp_path: Path) -> None:
    write(tmp_path, "a", "a")
    loaded = load_records(tmp_path)
    assert len(loaded.records) == 1
    assert "repeats job a" in loaded.problems[0]


def test_nan_never_reaches_a_record(tmp_path: Path) -> None:
    with open_records(tmp_path) as (writer, _), pytest.raises(ValueError):
        writer.append({"id": "a", "value": float("nan")})


@pytest.mark.slow
def test_the_command_recomputes_a_corrupt_last_line(
    bench: Any, uninterrupted: Any, finished: Path, tmp_path: Path
) -> None:
    (tmp_path / FILE).write_bytes((finished / FILE).read_bytes()[:-40])
    said = bench.run(tmp_path, "--workers", "1")
    assert "is damaged; its job will be computed again" in said
    assert "7 found done, 1 computed" in said
    assert bench.records(tmp_path) == uninterrupted


def test_a_torn_end_is_told_to_the_next_run(tmp_path: Path) -> None:
    """It is read before it is dropped."""
    write(tmp_path, "a", "b")
    (tmp_path / FILE).write_bytes((tmp_path / FILE).read_bytes()[:-10])
    with open_records(tmp_path) as (_, loaded):
        assert "Line 2" in loaded.problems[0]
    assert load_records(tmp_path).problems == ()
