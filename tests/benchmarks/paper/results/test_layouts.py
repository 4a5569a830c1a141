"""One table layout per name."""

from __future__ import annotations

from benchmarks.paper.results.layouts import LAYOUTS
from benchmarks.paper.run.suite import LAYOUT_NAMES


def test_every_layout_that_a_suite_may_name_exists() -> None:
    assert set(LAYOUT_NAMES) == set(LAYOUTS)
