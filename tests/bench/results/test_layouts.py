"""One table layout per name."""

from __future__ import annotations

from vmtl.bench.results.layouts import LAYOUTS
from vmtl.bench.run.suite import LAYOUT_NAMES


def test_every_layout_that_a_suite_may_name_exists() -> None:
    assert set(LAYOUT_NAMES) == set(LAYOUTS)
