"""A small suite on embedded data, and a way to run it as users do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import ROOT
from benchmarks.paper.run.records import Record, comparable, load_records
from helpers.processes import PATIENCE, PATIENT_RAY

SUITE = """
title = "Small"
[[run]]
data = "digits-domains"
fractions = [5]
methods = ["bmtl", "pooled"]
references = ["linear"]
options = { max_steps = 10, encoder = "linear" }
seeds = 1
"""


@pytest.fixture(scope="session")
def small_suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("suite")
    (folder / "small.toml").write_text(SUITE)
    return folder / "small.toml"


class Bench:
    """The command in a process of its own."""

    def __init__(self, suite: Path) -> None:
        self.suite = suite

    def start(self, out: Path, *options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "benchmarks.paper", "run", str(self.suite), "--out", str(out)]
        environment = {
            **os.environ,
            **PATIENT_RAY,
            "RAY_ADDRESS": "127.0.0.1:1",  # what an interrupted instance may have left
            "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
            "PYTHONWARNINGS": "default",
        }
        return subprocess.Popen(
            [*command, "--quiet", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=ROOT,
        )

    def run(self, out: Path, *options: str) -> str:
        """Run to the end and return what it said on standard error."""
        process = self.start(out, *options)
        _, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, said
        return said

    @staticmethod
    def records(out: Path) -> dict[str, Record]:
        """The records of a folder without costs; duplicates and damage are errors."""
        loaded = load_records(out)
        assert loaded.problems == ()
        return {name: comparable(record) for name, record in loaded.records.items()}


@pytest.fixture(scope="session")
def bench(small_suite: Path) -> Bench:
    return Bench(small_suite)


@pytest.fixture(scope="session")
def finished(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the small suite, one worker, no disturbance."""
    out = tmp_path_factory.mktemp("finished")
    bench.run(out, "--workers", "1")
    return out


@pytest.fixture(scope="session")
def uninterrupted(bench: Bench, finished: Path) -> dict[str, Record]:
    """Its comparable records."""
    return bench.records(finished)
