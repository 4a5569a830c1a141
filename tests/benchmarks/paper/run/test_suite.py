"""Suite files: read, checked, narrowed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.paper.run.suite import load_suites, narrow

PAPER = {
    "table_office_home": 150, "table_office_caltech": 150, "table_imageclef": 150, "table_domainnet": 210,
    "figure_proportions": 90, "table_bayesian_zw": 180, "table_priors": 135, "table_draws": 22,
    "table_mixing_weights": 6, "table_entropy_ratio": 9, "table_runtime": 10,
}  # fmt: skip


@pytest.mark.parametrize(("name", "numbers"), PAPER.items())
def test_the_papers_numbers_are_all_there(name: str, numbers: int) -> None:
    """Every number of the paper's tables, counted by table."""
    (suite,) = load_suites(name)
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
        for row in load_suites(name)[0].paper:
            cells = set(row.mean.values())
            assert cells <= printed[row.data, float(row.fraction), row.method, row.metric], row


def test_narrow_keeps_the_asked_part_only() -> None:
    (suite,) = load_suites("figure_proportions")
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
