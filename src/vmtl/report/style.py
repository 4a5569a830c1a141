"""One look for all figures: few colours, each with one meaning, and light axes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from vmtl._utils.missing_extra import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, MUTED, LINE = "#1d2433", "#69728a", "#dde1ea"
ACCENT, WARM, GOOD, BAD = "#3b73e6", "#d9652c", "#23935f", "#cc3b50"
#: The page's custom property for every colour, so that figures follow light and dark.
PROPERTIES = {
    INK: "--ink",
    MUTED: "--muted",
    LINE: "--line",
    ACCENT: "--accent",
    WARM: "--warm",
    GOOD: "--good",
    BAD: "--bad",
}
#: Width of a figure in inches: its text is readable on a phone, where it is as wide as the screen.
WIDTH = 4.3
_SETTINGS: Any = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "axes.unicode_minus": True,
    "font.size": 9.5,
    "axes.titlesize": 10,
    "axes.labelsize": 9.5,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.titlecolor": INK,
    "axes.edgecolor": LINE,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "grid.color": LINE,
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


@contextmanager
def figure_style() -> Iterator[None]:
    """Matplotlib with this look; names are shown as they are, never read as mathematics."""
    require("report", "A figure", "matplotlib")
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        yield


def axes(ax: Axes | None, height: float = 3.2) -> Axes:
    """``ax``, or the axes of a new figure."""
    if ax is not None:
        return ax
    with figure_style():
        import matplotlib.pyplot as plt

        return plt.subplots(figsize=(WIDTH, height), layout="constrained")[1]


def short(name: object, most: int = 24) -> str:
    """A name cut to fit an axis, in one line."""
    text = " ".join(str(name).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def wrapped(name: object, width: int = 13) -> str:
    """A name in at most two lines."""
    text = short(name, 2 * width)
    return "\n".join(short(line, width) for line in wrap(text, width)[:2])


def name_height(names: Iterable[object]) -> float:
    """Inches that names need below a map, where they are turned by 45 degrees."""
    return 0.05 * max((len(short(name)) for name in names), default=0)


def three_digits(value: float) -> str:
    """Three digits, without an exponent up to a million."""
    return f"{float(f'{value:.3g}'):,g}"
