"""What a job cost and where it ran."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
import torch

from benchmarks.paper.run.host import Meter, describe_host, one_thread, versions
from vmtl import __version__


def test_a_job_has_one_thread_and_the_process_its_threads_back() -> None:
    before = torch.get_num_threads()
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def test_the_meter_counts_seconds_and_forgets_what_is_none() -> None:
    with Meter() as meter:
        with meter.lap("nap_seconds"):
            time.sleep(0.05)
        meter.add(steps=3, nothing=None)
    costs = meter.costs()
    assert costs["nap_seconds"] > 0.04
    assert costs["seconds"] >= costs["nap_seconds"]
    assert costs["steps"] == 3.0
    assert "nothing" not in costs
    assert costs["peak_mb"] > 10


def test_the_peak_is_known_without_proc_and_missing_where_no_system_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS, then as on Windows."""

    def refuse(path: Path, *_: object) -> str:
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "read_text", refuse)
    with Meter() as meter:
        pass
    assert meter.costs()["peak_mb"] > 10
    monkeypatch.setitem(sys.modules, "resource", None)
    with Meter() as meter:
        pass
    assert "peak_mb" not in meter.costs()


def test_versions_and_host_are_text() -> None:
    assert versions()["vmtl"] == __version__
    assert {"python", "torch", "numpy"} <= set(versions())
    assert set(map(type, describe_host().values())) == {str}
