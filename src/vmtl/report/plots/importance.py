"""A figure on which columns drive predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vmtl.evaluation.importance import Importance
from vmtl.report.style import ACCENT, INK, MUTED, axes, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Columns that the figure shows; the table has them all.
MOST_SHOWN = 15
#: Tasks that may have a dot in every line.
MOST_DOTS = 25


def plot_importance(importance: Importance, ax: Axes | None = None) -> Axes:
    """What shuffling every column costs, with its 95 % interval; small dots are tasks.

    Parameters
    ----------
    importance : Importance
        What ``vmtl.evaluation.column_importance`` gives.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    """
    names = importance.columns[:MOST_SHOWN]
    ax = axes(ax, 1.0 + 0.32 * len(names))
    for place, (overall, of_tasks) in enumerate(zip(importance.overall, importance.of_tasks, strict=True)):
        if place == len(names):
            break
        if 1 < len(of_tasks) <= MOST_DOTS:
            values = [of_task.value for of_task in of_tasks]
            ax.plot(values, [place + 0.22] * len(values), ".", ms=5, mew=0, color=MUTED, alpha=0.7)
        ends = [[overall.value - overall.low], [overall.high - overall.value]]
        ax.errorbar(overall.value, place, xerr=ends, fmt="o", ms=5, lw=1.6, color=ACCENT, zorder=3)
    ax.axvline(0, color=INK, lw=1)
    ax.set_yticks(range(len(names)), [short(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlabel(importance.unit)
    ax.grid(axis="x")
    return ax
