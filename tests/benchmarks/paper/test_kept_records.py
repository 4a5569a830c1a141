"""The records that are part of the repository, and the pages that are made of them."""

from __future__ import annotations

import re

from benchmarks import ROOT
from benchmarks.paper.claims.__main__ import PAGE, page
from benchmarks.paper.run.job import Job
from benchmarks.paper.run.records import load_records
from benchmarks.paper.run.suite import load_suites

RECORDS = ROOT / "benchmarks" / "paper" / "records"
MOST_BYTES = 8_000_000


def test_records_are_sound_and_small() -> None:
    loaded = load_records(RECORDS)
    assert loaded.problems == ()
    assert all(Job.from_arguments(record["job"]).id == name for name, record in loaded.records.items())
    assert (RECORDS / "records.jsonl").stat().st_size < MOST_BYTES


def test_a_run_goes_on_from_them() -> None:
    """Every record is of a job that the suites ask for; otherwise it would be computed again under another name."""
    suites = [s for name in ("results", "full_length") for s in load_suites(name)]
    wanted = {job.id for suite in suites for job in suite.jobs}
    assert load_records(RECORDS).records.keys() <= wanted


def test_pages_are_made_of_all_of_them() -> None:
    records = load_records(RECORDS).records
    assert PAGE.read_text(encoding="utf-8") == page(list(records.values()))
    results = (ROOT / "RESULTS.md").read_text(encoding="utf-8")
    assert f"from {len(records)} records;" in results
    figures = re.findall(r"\]\((docs/images/\S+\.svg)\)", results)
    assert figures
    assert all((ROOT / figure).is_file() for figure in figures)
