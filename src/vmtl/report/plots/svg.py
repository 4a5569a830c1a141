"""Matplotlib figures as inline SVG whose colours and fonts are those of the page."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vmtl.report.style import PROPERTIES, WIDTH, figure_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    """A figure on the page: SVG, a heading, a caption, and the text that stands for it when it is not seen."""

    svg: str
    title: str
    caption: str
    alt: str


def draw(
    name: str,
    plot: Callable[[Axes], object],
    *,
    height: float,
    title: str,
    caption: str,
    alt: str,
    width: float = WIDTH,
) -> Picture:
    """Call ``plot`` with fresh axes; ``name`` is unique on the page."""
    return draw_grid(name, lambda figure: plot(figure.subplots()), width, height, title, caption, alt)


def draw_grid(
    name: str, plot: Callable[[Figure], object], width: float, height: float, title: str, caption: str, alt: str
) -> Picture:
    """Call ``plot`` with an empty figure."""
    from matplotlib.figure import Figure

    with figure_style(), warnings.catch_warnings():
        # A glyph that Matplotlib's own font lacks is drawn by the browser with its fonts.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        figure = Figure(figsize=(width, height), layout="constrained")
        plot(figure)
        stream = io.StringIO()
        figure.savefig(stream, format="svg", dpi=200, metadata={"Date": None, "Creator": None})
    return Picture(as_inline(stream.getvalue(), name), title, caption, alt)


def as_inline(document: str, name: str) -> str:
    """The <svg> of a document, without what would touch the rest of the page."""
    svg = document[document.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>", "", svg, count=1, flags=re.DOTALL)
    svg = re.sub(r'\b(id="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    svg = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", svg)
    svg = re.sub(r"font-family: [^;\"]*;?", "", svg)
    for colour, variable in PROPERTIES.items():
        svg = svg.replace(colour, f"var({variable})")
    box = re.search(r'viewBox="[^"]*"', svg)
    assert box is not None
    return re.sub(r"<svg[^>]*>", f'<svg {box.group()} aria-hidden="true" focusable="false">', svg, count=1)
