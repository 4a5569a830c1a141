"""Suites as they run: shrunk in a smoke run, refused without their data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from benchmarks.paper.results.layouts import suite_tables
from benchmarks.paper.results.show import results_markdown, write_suite
from benchmarks.paper.run.engines import Finished, Place
from benchmarks.paper.run.execute import execute
from benchmarks.paper.run.job import Job
from benchmarks.paper.run.records import load_records
from benchmarks.paper.run.runner import resolve, run_suites
from benchmarks.paper.run.suite import SUITES, load_suites
from benchmarks.paper.run.watcher import Watcher
from helpers.forms import some_in_the_short_form

FILES = sorted(SUITES.glob("*.toml"))

#: Suites of which every change is tried: one of methods, one of variants, one of a figure.
SHORT = ("table_mixing_weights", "figure_relatedness", "figure_rotated_mnist")


def in_this_process(jobs: Sequence[Job], place: Place, started: Callable[[Job], None]) -> Iterator[Finished]:
    """An engine without processes."""
    for job in jobs:
        started(job)
        yield Finished(job, execute(job, place.data, place.splits))


@pytest.mark.parametrize(
    "file",
    some_in_the_short_form(FILES, *(file for file in FILES if file.stem in SHORT)),
    ids=lambda file: file.stem,
)
def test_every_suite_runs_in_smoke_mode_without_data(file: Path, tmp_path: Path) -> None:
    suites = resolve(load_suites(file), Place(), smoke=True)
    outcome = run_suites(suites, in_this_process, Place(), tmp_path, Watcher(visible=False))
    assert not outcome.failed
    records = load_records(tmp_path).records
    for suite in suites:
        assert any(table.rows for table in suite_tables(suite, records)), suite.title
        markdown, page = (path.read_text() for path in write_suite(suite, records, tmp_path))
        assert ("STAND-IN" in markdown) == any(job.source == "stand-in" for job in suite.jobs)
        assert page.startswith("<!doctype html>")
    assert "# Results" in results_markdown(suites, records, "command")


def test_a_real_run_without_data_says_what_is_missing() -> None:
    with pytest.raises(FileNotFoundError, match=r"office_home.npz"):
        resolve(load_suites("table_office_home"), Place(), smoke=False)
