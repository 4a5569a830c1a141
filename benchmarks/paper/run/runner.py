"""Run the jobs of suites that have no record yet, and write one record for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.paper.run.data import missing_data
from benchmarks.paper.run.engines import Engine, Finished, Place
from benchmarks.paper.run.host import versions
from benchmarks.paper.run.job import Job
from benchmarks.paper.run.records import Record, open_records
from benchmarks.paper.run.suite import Suite, shrink
from benchmarks.paper.run.watcher import Watcher


@dataclass(frozen=True)
class Outcome:
    """What a call did: jobs in the suites, done before, computed now, and failed ones with their reasons."""

    total: int
    done_before: int
    computed: int
    failed: tuple[tuple[Job, str], ...]


def resolve(suites: Sequence[Suite], place: Place, smoke: bool) -> list[Suite]:
    """The suites as they will run: shrunk in a smoke run; else data that is missing is an error."""
    if smoke:
        return shrink(suites, place.data, place.splits)
    for job in {(job.data, job.split): job for suite in suites for job in suite.jobs}.values():
        if reason := missing_data(job, place.data, place.splits):
            raise FileNotFoundError(reason)
    return list(suites)


def run_suites(
    suites: Sequence[Suite],
    engine: Engine,
    place: Place,
    out: str | Path,
    watcher: Watcher,
    report: Callable[[str], None] = print,
) -> Outcome:
    """Compute what ``out`` lacks. Killed and called again it goes on; the folder's lock keeps others away."""
    jobs = list({job.id: job for suite in suites for job in suite.jobs}.values())
    with open_records(out) as (writer, loaded):
        for problem in loaded.problems:
            report(problem)
        _warn_of_other_versions([loaded.records[job.id] for job in jobs if job.id in loaded.records], report)
        todo = [job for job in jobs if job.id not in loaded.records]
        failed: list[tuple[Job, str]] = []
        with watcher.watching(total=len(jobs), done=len(jobs) - len(todo)):
            for finished in engine(todo, place, watcher.started) if todo else ():
                watcher.finished(finished.job)
                _keep(finished, writer.append, failed, report)
    return Outcome(len(jobs), len(jobs) - len(todo), len(todo) - len(failed), tuple(failed))


def _keep(
    finished: Finished,
    append: Callable[[Record], None],
    failed: list[tuple[Job, str]],
    report: Callable[[str], None],
) -> None:
    if finished.record is not None:
        append(finished.record)
        return
    failed.append((finished.job, finished.error or "unknown"))
    report(f"{finished.job}: {finished.error}")


def _warn_of_other_versions(records: Sequence[Record], report: Callable[[str], None]) -> None:
    now = versions()["vmtl"]
    others = sorted({record["versions"]["vmtl"] for record in records} - {now})
    if others:
        report(f"Some records are of vmtl {', '.join(others)}, this is {now}; choose a new --out to compute them anew.")
