"""What stands above and below a table."""

from __future__ import annotations

from benchmarks.paper.results.layouts import suite_tables
from benchmarks.paper.run.suite import Suite
from benchmarks.text_table import to_markdown
from helpers.golden_suite import invented_records


def test_missing_jobs_are_counted_and_their_rows_named(suite: Suite) -> None:
    invented = invented_records(suite)
    dropped = [job.id for job in suite.jobs if job.method == "bmtl"]
    dropped += [job.id for job in suite.jobs if job.method == "vmtl" and job.selection == "last"][:1]
    table = suite_tables(suite, {name: record for name, record in invented.items() if name not in dropped})[0]
    note = next(note for note in table.footnotes if "have no record yet" in note)
    assert note.startswith(
        f"{len(dropped)} jobs of this table have no record yet; there are 0 of 3 runs of BMTL [paper]"
    )
    assert "; 2 of 3 runs of VMTL [paper]" in note
    assert not any(row[0].startswith("BMTL") for row in table.rows)


def test_a_table_without_records_says_so_in_a_sentence(suite: Suite) -> None:
    text = to_markdown(suite_tables(suite, {})[:1])
    assert "No job of this table has been run yet." in text
    assert f"- None of its {len(suite.jobs)} jobs has a record." in text
    assert "|" not in text
