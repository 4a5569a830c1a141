"""Figures on training: every recorded term, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vmtl.report.style import ACCENT, MUTED, axes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Tasks whose curves are drawn behind the mean.
MOST_CURVES = 30
LABELS = {"nll": "negative log likelihood per row", "kl_w": "KL of w (nats)", "kl_z": "KL of z per row (nats)"}


def plot_learning(history: pd.DataFrame, term: str = "nll", ax: Axes | None = None) -> Axes:
    """A term of ``history_`` over steps: each task as a thin line, their mean as a thick one.

    Parameters
    ----------
    history : DataFrame
        ``history_`` of a fitted estimator.
    term : str, default="nll"
        One of its columns.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    """
    ax = axes(ax, 2.6)
    table = history.pivot_table(index="step", columns="task", values=term, observed=True, sort=False)
    for task in list(table.columns)[:MOST_CURVES]:
        ax.plot(table.index, table[task], color=MUTED, lw=0.7, alpha=0.5)
    mean = table.mean(axis=1)
    ax.plot(table.index, mean, color=ACCENT, lw=2)
    if (table.to_numpy() > 0).all() and mean.max() > 20 * mean.min():
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter("{x:g}")
    ax.set(xlabel="step", ylabel=LABELS.get(term, term))
    ax.grid(axis="y")
    return ax
