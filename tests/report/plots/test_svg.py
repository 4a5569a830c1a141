"""Figures as inline SVG that follow the page."""

from __future__ import annotations

import re

from matplotlib.axes import Axes

from vmtl.report.plots.svg import draw
from vmtl.report.style import ACCENT


def plot(ax: Axes) -> None:
    ax.plot([0, 1], [0, 1], color=ACCENT)
    ax.set_title("a $title$ with 漢字")


def test_colours_are_the_pages_and_names_are_unique() -> None:
    one, other = (draw(name, plot, height=2, title="t", caption="c", alt="a").svg for name in ("one", "other"))
    assert "var(--accent)" in one
    assert ACCENT not in one
    names = [set(re.findall(r'\bid="([^"]+)"', svg)) for svg in (one, other)]
    assert names[0]
    assert not names[0] & names[1]


def test_nothing_of_the_document_is_left_but_the_drawing() -> None:
    svg = draw("one", plot, height=2, title="t", caption="c", alt="a").svg
    assert svg.startswith("<svg viewBox=")
    assert all(word not in svg for word in ("<metadata", "<style", "font-family", "<?xml"))
    assert "a $title$ with 漢字" in svg


def test_the_same_figure_is_the_same_text() -> None:
    first, second = (draw("one", plot, height=2, title="t", caption="c", alt="a").svg for _ in range(2))
    assert re.sub(r"one-[a-z]+[0-9a-f]{8,}", "", first) == re.sub(r"one-[a-z]+[0-9a-f]{8,}", "", second)
