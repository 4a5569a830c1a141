"""Jobs in processes: records come back, errors become sentences, a dead process is tried again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.paper.run import engines
from benchmarks.paper.run.engines import Finished, Place, get_engine, local_engine
from benchmarks.paper.run.job import Job
from helpers.attempts import die, die_once, refuse

JOBS = [Job("digits-domains", 5.0, method, 0, candidates=({"max_steps": 2},), smoke=True) for method in ("bmtl", "stl")]


def run(
    attempt: Callable[..., object], folder: Path, monkeypatch: pytest.MonkeyPatch, jobs: list[Job]
) -> list[Finished]:
    monkeypatch.setattr(engines, "_attempt", attempt)
    done = local_engine(len(jobs))(jobs, Place(folder), lambda job: None)
    return sorted(done, key=lambda finished: finished.job.method)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_process_that_dies_is_tried_again(workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(die_once, tmp_path, monkeypatch, JOBS[:workers])
    assert [finished.record for finished in done] == [{"method": "bmtl"}, {"method": "stl"}][:workers]


@pytest.mark.slow
def test_a_process_that_always_dies_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "ATTEMPTS", 2)
    (finished,) = run(die, tmp_path, monkeypatch, JOBS[:1])
    assert finished.record is None
    assert finished.error == "its process died 2 times, perhaps for lack of memory"


def test_an_error_of_a_job_is_its_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (finished,) = run(refuse, tmp_path, monkeypatch, JOBS[:1])
    assert finished.error == "ValueError: this cannot be"


@pytest.mark.parametrize(
    ("name", "workers", "sentence"), [("cloud", 1, "choose local or ray"), ("local", 0, "at least 1")]
)
def test_wrong_engines_are_explained(name: str, workers: int, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        get_engine(name, workers)
