"""A figure on columns: the most important on top, with their intervals, and a dot for every task."""

from __future__ import annotations

import numpy as np

from helpers.report_models import importance
from vmtl.report import plot_importance


def test_the_figure_shows_the_most_important() -> None:
    ax = plot_importance(importance(4, n_columns=40))
    assert [text.get_text() for text in ax.get_yticklabels()] == [f"column {k}" for k in range(15)]
    bottom, top = ax.get_ylim()
    assert bottom > top  # the first is the uppermost
    assert ax.get_xlabel() == "nats per row"


def test_every_column_has_its_interval() -> None:
    found = importance(1)
    ax = plot_importance(found)
    bars = [container.lines[2][0].get_segments()[0] for container in ax.containers]
    for place, (bar, expected) in enumerate(zip(bars, found.overall, strict=True)):
        np.testing.assert_allclose(bar, [(expected.low, place), (expected.high, place)])


def test_several_tasks_are_dots_and_one_is_none() -> None:
    def dots(n_tasks: int) -> list[int]:
        return [
            len(line.get_xdata()) for line in plot_importance(importance(n_tasks)).lines if line.get_marker() == "."
        ]

    assert dots(4) == [4, 4, 4]
    assert dots(1) == []
