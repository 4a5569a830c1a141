"""The main layout: a row per method, the paper beside ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.paper.goals import measure_goals
from benchmarks.paper.results.layouts import suite_tables
from benchmarks.paper.run.suite import Suite, load_suites
from benchmarks.text_table import to_markdown
from helpers.golden_suite import LEVEL, SUITE, invented_records

GOLDEN = Path(__file__).with_name("golden_table.md")


def test_the_main_table_is_the_stored_one(suite: Suite) -> None:
    assert to_markdown(suite_tables(suite, invented_records(suite))) == GOLDEN.read_text()


def test_the_order_of_records_does_not_matter(suite: Suite) -> None:
    records = invented_records(suite)
    turned = dict(reversed(records.items()))
    assert suite_tables(suite, records) == suite_tables(suite, turned)


def test_oracle_numbers_stand_only_in_the_column_that_says_so(suite: Suite) -> None:
    table = suite_tables(suite, invented_records(suite))[0]
    where = table.columns.index("oracle: chosen on test labels")
    for row in table.rows:
        assert all("97.1" not in cell for i, cell in enumerate(row) if i != where)
    assert "97.1" in {row[where].split()[0] for row in table.rows}


def test_negative_transfer_is_named(suite: Suite) -> None:
    notes = " ".join(suite_tables(suite, invented_records(suite))[0].footnotes)
    assert "Negative transfer under BMTL" in notes
    assert "Negative transfer under VMTL" not in notes


def test_one_row_lost_is_negative_transfer_over_splits_but_not_on_one_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default loses one of 500 rows of each task in every run."""
    monkeypatch.setitem(LEVEL, "default", LEVEL["per_task_linear"] - 0.002)
    for split, hurt in (("paper", 0), ("random", 2)):
        (tmp_path / "made.toml").write_text(SUITE.replace('split = "paper"', f'split = "{split}"'))
        suite = load_suites(tmp_path / "made.toml")[0]
        notes = " ".join(suite_tables(suite, invented_records(suite))[0].footnotes)
        assert ("Negative transfer under Gaussian process [default]" in notes) == bool(hurt)
        goals = {goal.what: goal for goal in measure_goals([suite], invented_records(suite))}
        assert goals["tasks with negative transfer, Holm-corrected"].value == hurt
