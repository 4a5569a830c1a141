"""What people see of a running benchmark."""

from __future__ import annotations

import pytest

from benchmarks.paper.run import watcher as module
from benchmarks.paper.run.job import Job
from benchmarks.paper.run.watcher import Watcher, clock

JOBS = [Job("digits3", 5.0, "bmtl", seed) for seed in range(3)]


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (123, "2:03"), (3723, "1:02:03")])
def test_a_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text


def test_the_time_left_follows_the_pace_of_this_call(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    watcher = Watcher(visible=False)
    with watcher.watching(total=12, done=8):
        assert watcher.time_left() is None
        watcher.started(JOBS[0])
        now[0] += 5
        watcher.finished(JOBS[0])
        assert watcher.time_left() == 15.0
        watcher.started(JOBS[1])
        assert watcher.summary() == "9 of 12 jobs done, 1 running, 0:05 so far, 0:15 left"


def test_where_nobody_watches_a_line_comes_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    watcher = Watcher()
    with watcher.watching(total=3, done=0):
        for job in JOBS:
            watcher.started(job)
            now[0] += module.LINE_EVERY * 0.6
            watcher.finished(job)
    assert [line.split(",")[0] for line in capsys.readouterr().err.splitlines()] == ["2 of 3 jobs done"]
