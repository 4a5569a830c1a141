"""``python -m benchmarks.paper``: records are computed once, tables come from them, and a failed job is no success."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.paper.__main__ import app
from benchmarks.paper.run.engines import Engine, Finished, Place
from benchmarks.paper.run.execute import execute
from benchmarks.paper.run.job import Job
from helpers.tables import Run

SUITE = """
title = "Small"
[[run]]
data = "digits-domains"
fractions = [5, 10]
methods = ["bmtl"]
options = { max_steps = 2, encoder = "linear", latent_dim = 4 }
seeds = 1
"""


@pytest.fixture
def run() -> Run:
    """Run the command in this process."""
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "small.toml").write_text(SUITE)
    return tmp_path / "suites" / "small.toml"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """Jobs run in this process, and are listed here."""
    jobs: list[Job] = []

    def engine(todo: Sequence[Job], place: Place, started: Callable[[Job], None]) -> Iterator[Finished]:
        for job in todo:
            jobs.append(job)
            yield Finished(job, execute(job, place.data, place.splits))

    def get_engine(name: str, workers: int, address: str | None) -> Engine:
        assert (name, workers, address) == ("local", 2, None)
        return engine

    monkeypatch.setattr("benchmarks.paper.run.engines.get_engine", get_engine)
    return jobs


def test_a_second_run_finds_what_the_first_computed(run: Run, suite: Path, tmp_path: Path, asked: list[Job]) -> None:
    command = ("run", suite, "--out", tmp_path / "runs", "--quiet")
    done = run(*command, "--fraction", "5")
    assert done.exit_code == 0, done.output
    assert "1 jobs: 0 found done, 1 computed, 0 failed." in done.stderr
    assert "Synthetic stand-ins" not in done.stderr
    done = run(*command)
    assert "2 jobs: 1 found done, 1 computed, 0 failed." in done.stderr
    assert [job.fraction for job in asked] == [5, 10]
    table = Path(done.stdout.strip())
    assert table.parent == tmp_path / "runs" / "tables"
    assert "Small" in table.read_text()
    listed = run("list", suite.parent, "--out", tmp_path / "runs").stdout
    assert listed == f"{suite}  Small: 2 jobs, 2 done\n"


def test_tables_and_a_page_are_made_of_the_records(run: Run, suite: Path, tmp_path: Path, asked: list[Job]) -> None:
    out, page = tmp_path / "runs", tmp_path / "pages" / "RESULTS.md"
    page.parent.mkdir()
    suite.write_text(SUITE.replace('"Small"', '"Small"\nlayout = "variants"'))
    assert run("run", suite, "--out", out, "--quiet").exit_code == 0
    done = run("show", suite, "--out", out, "--results-md", page, "--figures", tmp_path / "figures")
    assert done.exit_code == 0, done.output
    assert "5 %" in done.stdout
    assert "10 %" in done.stdout
    assert "10 %" not in run("show", suite, "--out", out, "--fraction", "5").stdout
    assert "from 2 records" in page.read_text()
    links = re.findall(r"!\[.*?\]\((.*?)\)", page.read_text())
    assert links == ["../figures/small-1.svg"]  # seen from the page
    assert (page.parent / links[0]).is_file()
    assert len(asked) == 2  # nothing is computed to be shown


def test_a_job_without_a_record_ends_the_run_with_1(
    run: Run, suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def engine(todo: Sequence[Job], place: Place, started: Callable[[Job], None]) -> Iterator[Finished]:
        yield from (Finished(job, None, "its process died") for job in todo)

    monkeypatch.setattr("benchmarks.paper.run.engines.get_engine", lambda *how: engine)
    done = run("run", suite, "--out", tmp_path / "runs", "--quiet")
    assert done.exit_code == 1
    assert "its process died" in done.stderr
    assert "2 jobs: 0 found done, 0 computed, 2 failed." in done.stderr


def test_a_smoke_run_says_where_numbers_mean_nothing(
    run: Run, suite: Path, tmp_path: Path, asked: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VMTL_DATA", raising=False)
    suite.write_text(SUITE.replace("digits-domains", "office-caltech"))
    done = run("run", suite, "--out", tmp_path / "runs", "--quiet", "--smoke", "--fraction", "5")
    assert done.exit_code == 0, done.output
    assert "Synthetic stand-ins took the place of office-caltech: the numbers mean nothing." in done.stderr
    assert all(job.smoke for job in asked)
    assert run("run", suite, "--out", tmp_path / "whole", "--quiet").exit_code != 0  # data is missing
