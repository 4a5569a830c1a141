"""The table of the default beside linear models."""

from __future__ import annotations

from benchmarks.paper.comparison import comparison_table


def test_nothing_run_gives_an_empty_table() -> None:
    assert comparison_table([]).rows == ()
