"""RESULTS.md: who wins where."""

from __future__ import annotations

from helpers.golden_suite import invented_records
from vmtl.bench.results.show import results_markdown
from vmtl.bench.run.suite import Suite


def test_results_say_who_wins(suite: Suite) -> None:
    page = results_markdown([suite], invented_records(suite), "vmtl bench show")
    assert "ahead in 1, even in 0, behind in 0" in page
    assert "0:09 of CPU time" not in page
    assert "from 27 records" in page
