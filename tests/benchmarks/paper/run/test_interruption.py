"""Killed, restarted, on one worker or two: the same records, each once."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.paper.run.records import FILE, Record, open_records
from helpers.processes import PATIENCE

pytestmark = pytest.mark.system


@pytest.mark.slow
def test_one_worker_and_two_give_equal_records(bench: Any, uninterrupted: dict[str, Record], tmp_path: Path) -> None:
    bench.run(tmp_path, "--workers", "2")
    assert bench.records(tmp_path) == uninterrupted
    assert len(uninterrupted) == 8
    assert {record["status"] for record in uninterrupted.values()} == {"done"}


@pytest.mark.slow
def test_killed_after_its_first_record_and_resumed(
    bench: Any, uninterrupted: dict[str, Record], tmp_path: Path
) -> None:
    """By two workers, which compute what one would."""
    process = bench.start(tmp_path, "--workers", "1")
    wait_for_lines(tmp_path / FILE, 1)
    workers = children(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    done = (tmp_path / FILE).read_bytes().count(b"\n")
    said = bench.run(tmp_path, "--workers", "2")
    assert bench.records(tmp_path) == uninterrupted
    assert f"{len(uninterrupted)} jobs: {done} found done" in said
    wait_for(lambda: not any(alive(worker) for worker in workers), "workers outlived the run that started them")


def test_a_finished_suite_computes_nothing(bench: Any, finished: Path) -> None:
    before = (finished / FILE).read_bytes()
    assert "8 found done, 0 computed" in bench.run(finished)
    assert (finished / FILE).read_bytes() == before


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    with open_records(tmp_path), pytest.raises(RuntimeError, match="Another run"), open_records(tmp_path):
        pass


def wait_for_lines(file: Path, count: int) -> None:
    wait_for(lambda: file.is_file() and file.read_bytes().count(b"\n") >= count, "no record was written")


def wait_for(condition: object, message: str, seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, message
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    """Processes whose parent is ``pid``, and theirs."""
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    if not listed.is_file():
        return []
    own = [int(child) for child in listed.read_text().split()]
    return own + [far for child in own for far in children(child)]


def alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
