"""The command itself, ended without a warning: what it had done stays, and the next run does the rest."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks import ROOT
from benchmarks.peers.jobs import plan, read

PEERS, SPLITS = ["constant", "pooled"], 3
ASKED = ["--sets", "digits-domains", "--peers", ",".join(PEERS), "--splits", str(SPLITS)]


def start(file: Path) -> subprocess.Popen:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.peers", *ASKED, "--records", str(file)], cwd=ROOT, **quiet
    )


@pytest.mark.slow
def test_the_command_goes_on_after_it_was_killed(tmp_path):
    file = tmp_path / "records.jsonl"
    first, latest = start(file), time.monotonic() + 120
    while not read(file) and time.monotonic() < latest:
        time.sleep(0.01)
    first.kill()
    first.wait()
    before = read(file)
    wanted = {job.id for job in plan(["digits-domains"], PEERS, SPLITS)}
    assert before
    assert set(before) < wanted  # it was killed half-way
    assert start(file).wait(timeout=300) == 0
    after = read(file)
    assert set(after) == wanted
    assert {key: after[key] for key in before} == before
    assert len(file.read_text().splitlines()) <= len(wanted) + 1  # a torn line at most
