"""What stands above and below a table."""

from __future__ import annotations

from helpers.golden_suite import invented_records
from vmtl.bench.results.layouts import suite_tables
from vmtl.bench.run.suite import Suite


def test_missing_jobs_are_counted(suite: Suite) -> None:
    records = dict(list(invented_records(suite).items())[:-3])
    assert "3 jobs of this table have no record yet." in suite_tables(suite, records)[0].footnotes
