"""Figures are drawn without a screen, and closed after every test."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    from matplotlib import pyplot

    yield
    pyplot.close("all")
