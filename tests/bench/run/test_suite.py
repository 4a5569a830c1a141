"""Every suite file: complete, true to its own rules, and able to run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from vmtl.bench.results.layouts import LAYOUTS, suite_tables
from vmtl.bench.results.show import results_markdown, write_suite
from vmtl.bench.run.engines import Finished, Place
from vmtl.bench.run.execute import execute
from vmtl.bench.run.job import Job
from vmtl.bench.run.records import load_records
from vmtl.bench.run.runner import resolve, run_suites
from vmtl.bench.run.suite import LAYOUTS as LAYOUT_NAMES
from vmtl.bench.run.suite import load_suites, narrow
from vmtl.bench.run.watcher import Watcher

FOLDER = Path(__file__).parents[3] / "benchmarks"
FILES = sorted(FOLDER.glob("*.toml"))
PAPER = {
    "table_office_home": 150, "table_office_caltech": 150, "table_imageclef": 150, "table_domainnet": 210,
    "figure_proportions": 90, "table_bayesian_zw": 180, "table_priors": 135, "table_draws": 22,
    "table_mixing_weights": 6, "table_entropy_ratio": 9, "table_runtime": 10,
}  # fmt: skip


def in_this_process(jobs: Sequence[Job], place: Place, started: Callable[[Job], None]) -> Iterator[Finished]:
    """An engine without processes."""
    for job in jobs:
        started(job)
        yield Finished(job, execute(job, place.data, place.splits))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
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


@pytest.mark.parametrize(("name", "numbers"), PAPER.items())
def test_the_papers_numbers_are_all_there(name: str, numbers: int) -> None:
    """Every number of the paper's tables, counted by table."""
    (suite,) = load_suites(FOLDER / f"{name}.toml")
    assert sum(len(row.mean) for row in suite.paper) == numbers
    known = {(job.data, job.fraction, job.method, job.variant) for job in suite.jobs}
    assert {(row.data, row.fraction, row.method, row.variant) for row in suite.paper} <= known


def test_the_papers_numbers_are_copied_without_error(real_data: Path) -> None:
    """Against the machine-readable tables, where they are at hand."""
    source = real_data / "paper" / "tables.json"
    if not source.is_file():
        pytest.skip("VMTL_DATA has no paper/tables.json")
    printed: dict[tuple[object, ...], set[float]] = {}
    for record in json.loads(source.read_text())["records"]:
        key = (record["dataset"], float(record["split_percent"]), record["method"], record["metric"])
        printed.setdefault(key, set()).add(record["mean"])
    for name in PAPER:
        for row in load_suites(FOLDER / f"{name}.toml")[0].paper:
            found = set(row.mean.values())
            assert found <= printed[row.data, float(row.fraction), row.method, row.metric], row


def test_a_real_run_without_data_says_what_is_missing() -> None:
    with pytest.raises(FileNotFoundError, match=r"office_home.npz"):
        resolve(load_suites(FOLDER / "table_office_home.toml"), Place(), smoke=False)


def test_narrow_keeps_the_asked_part_only() -> None:
    (suite,) = load_suites(FOLDER / "figure_proportions.toml")
    jobs = narrow(suite, ["office-caltech"], [5]).jobs
    assert {(job.data, job.fraction) for job in jobs} == {("office-caltech", 5.0)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('title = "x"\nlayout = "pie"\n[[run]]\ndata = "school"\nfractions = [5]', "choose one of methods"),
        ('title = "x"\nfraction = 3', "unknown key fraction"),
        ('title = "x"', r"no \[\[run\]\]"),
        ('title = "x"\n[[run]]\ndata = "mars"\nfractions = [5]', "Unknown data set 'mars'"),
        ('title = "x"\n[[run]]\ndata = "school"\nfractions = [5]\nselection = "lucky"', "Unknown selection rule"),
        ("title = ", "is not TOML"),
    ],
)
def test_a_wrong_suite_is_explained(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "wrong.toml").write_text(text)
    with pytest.raises(ValueError, match=message):
        load_suites(tmp_path / "wrong.toml")


def test_a_job_is_named_by_its_arguments() -> None:
    job = Job("school", 5, "vmtl", 0)
    assert job.id == Job.from_arguments(job.arguments()).id == Job("school", 5.0, "vmtl", 0, variant="label").id
    others = [Job("school", 5, "vmtl", 1), Job("school", 10, "vmtl", 0), Job("school", 5, "bmtl", 0)]
    others += [Job("school", 5, "vmtl", 0, candidates=({"n_z": 3},)), Job("school", 5, "vmtl", 0, smoke=True)]
    assert len({job.id, *(other.id for other in others)}) == 6


def test_every_layout_that_a_suite_may_name_exists() -> None:
    assert set(LAYOUT_NAMES) == set(LAYOUTS)
