"""The suite that tables and figures are made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.paper.run.suite import Suite
from helpers.golden_suite import golden_suite


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return golden_suite(tmp_path)
