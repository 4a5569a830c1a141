"""Figures on how good predictions are: scores, gains, calibration, confusion, uncertainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm

from vmtl._utils.types import Array
from vmtl.estimators.metrics.class_metrics import ECE_BINS, ece
from vmtl.evaluation.comparison import ALONE, POOLED, Gain
from vmtl.evaluation.intervals import Interval
from vmtl.evaluation.scored_predictions import Evidence, perfect_ece
from vmtl.report.style import ACCENT, BAD, GOOD, INK, LINE, MUTED, WARM, axes, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Tasks or classes that one figure can show; tables have them all.
MOST_IN_FIGURE = 25
_SHADES = {name: (WARM, "s", "alone") for name in ALONE} | {POOLED: (GOOD, "D", "pooled")}
_LINEAR = {"per_task_linear": ("^", "per-task linear"), "pooled_linear": ("v", "pooled linear")}


def plot_scores(evidence: Evidence, others: Mapping[str, Evidence] | None = None, ax: Axes | None = None) -> Axes:
    """Score of every task with its 95 % interval; alone and pooled beside it, further methods as small dots.

    Parameters
    ----------
    evidence : Evidence
        Predictions on labelled rows.
    others : mapping of str to Evidence, default=None
        Predictions of other methods for the same rows, by name.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    """
    others = others or {}
    tasks = evidence.present[:MOST_IN_FIGURE]
    ax = axes(ax, 1.1 + (0.42 if others else 0.27) * len(tasks))
    ax.plot([], [], "o", ms=5, color=ACCENT, label="this model")
    labelled: set[str] = set()
    for place, t in enumerate(tasks):
        rows = evidence.rows(t)
        for name, other in others.items():
            if name not in _SHADES:
                marker, label = _LINEAR.get(name, (".", "other methods"))
                colour, size = (INK, 4.5) if name in _LINEAR else (MUTED, 6)
                dot = ax.plot(other.score(rows).value, place - 0.18, marker, ms=size, mew=0, color=colour, alpha=0.7)[0]
                dot.set_label("" if label in labelled else label)
                labelled.add(label)
        for offset, name in (*((0.2, name) for name in ALONE), (0.36, POOLED)):
            if name in others:
                colour, marker, label = _SHADES[name]
                _interval(ax, others[name].score(rows), place + offset, colour, marker, label if place == 0 else "")
        _interval(ax, evidence.score(rows), place, ACCENT, "o", "")
    ax.set_yticks(range(len(tasks)), [short(evidence.tasks[t]) for t in tasks])
    ax.set_ylim(len(tasks) - 0.4, -0.6)
    ax.set_xlabel(f"{evidence.measure} with 95 % interval")
    ax.grid(axis="x")
    if others:
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, handletextpad=0.1, columnspacing=0.8)
    return ax


def _interval(ax: Axes, interval: Interval, place: float, colour: str, marker: str, label: str) -> None:
    ends = [[interval.value - interval.low], [interval.high - interval.value]]
    ax.errorbar(interval.value, place, xerr=ends, fmt=marker, ms=5, lw=1.6, color=colour, label=label or None, zorder=3)


def plot_gains(of_tasks: Sequence[Gain], ax: Axes | None = None) -> Axes:
    """What every task gains from the others, against being learned alone; 0 is no difference.

    Parameters
    ----------
    of_tasks : sequence of Gain
        What ``vmtl.evaluation.gains`` gives.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    """
    shown = sorted(of_tasks, key=lambda gain: -gain.gain.value)
    if len(shown) > MOST_IN_FIGURE:
        shown = [*shown[: MOST_IN_FIGURE // 2], *shown[-(MOST_IN_FIGURE - MOST_IN_FIGURE // 2) :]]
    ax = axes(ax, 1.0 + 0.36 * len(shown))
    colours = {"helped": GOOD, "hurt": BAD}
    for place, gain in enumerate(shown):
        value, low, high = (100 * v for v in (gain.gain.value, gain.gain.low, gain.gain.high))
        colour = colours.get(gain.verdict, MUTED)
        ax.errorbar(value, place, xerr=[[value - low], [high - value]], fmt="o", ms=5, lw=1.6, color=colour)
    ax.axvline(0, color=INK, lw=1)
    ax.set_yticks(range(len(shown)), [short(gain.task) for gain in shown])
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.grid(axis="x")
    return ax


def plot_reliability(evidence: Evidence, task: int | None = None, ax: Axes | None = None) -> Axes:
    """Observed against promised: accuracy by confidence, or in regression the coverage of central intervals.

    Parameters
    ----------
    evidence : Evidence
        Predictions on labelled rows.
    task : int, default=None
        One task by its number; None is all rows.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    """
    rows = np.arange(len(evidence.y)) if task is None else evidence.rows(task)
    ax = axes(ax, 3.4)
    ax.plot([0, 1], [0, 1], color=MUTED, lw=1, ls=(0, (4, 3)))
    if evidence.p is not None:
        y, p = evidence.y[rows], evidence.p[rows]
        promised, observed, share = reliability_bins(y, p)
        ax.vlines(promised, promised, observed, color=WARM, lw=1.4, alpha=0.8)
        ax.scatter(promised, observed, s=10 + 150 * share, color=ACCENT, linewidths=0, zorder=3)
        text = f"ECE {ece(y, p):.3f}\nif perfect {perfect_ece(p):.3f}"
    else:
        levels, observed = coverage(evidence, rows)
        ax.fill_between(levels, levels, observed, color=WARM, alpha=0.25, linewidth=0)
        ax.plot(levels, observed, color=ACCENT, lw=1.8)
        text = f"gap {np.abs(levels - observed).mean():.3f}"
    ax.set(xlim=(0, 1.02), ylim=(0, 1.02), aspect="equal")
    ax.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
    ax.set_yticks([0, 0.5, 1], ["0", ".5", "1"])
    name = "all rows" if task is None else short(evidence.tasks[task], 16)
    ax.set_title(f"{name}\n{text}", linespacing=1.35)
    return ax


def reliability_bins(y: Array, p: Array, n_bins: int = ECE_BINS) -> tuple[Array, Array, Array]:
    """Mean confidence, accuracy and share of the rows of every bin that has rows."""
    confidence, right = p.max(axis=1), p.argmax(axis=1) == y
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    count = np.bincount(bins, minlength=n_bins)
    used = count > 0
    promised = np.bincount(bins, weights=confidence, minlength=n_bins)[used] / count[used]
    observed = np.bincount(bins, weights=right, minlength=n_bins)[used] / count[used]
    return promised, observed, count[used] / len(y)


def coverage(evidence: Evidence, rows: Array) -> tuple[Array, Array]:
    """Levels of central intervals, and the share of targets inside them."""
    levels = np.linspace(0.05, 0.95, 19)
    return levels, (deviations(evidence, rows)[:, None] <= norm.ppf((1 + levels) / 2)).mean(axis=0)


def deviations(evidence: Evidence, rows: Array) -> Array:
    """|target - mean| / std of some rows of a regression."""
    assert evidence.mean is not None
    assert evidence.std is not None
    return np.asarray(np.abs(evidence.y[rows] - evidence.mean[rows]) / np.maximum(evidence.std[rows], 1e-300))


def plot_uncertainty(evidence: Evidence, ax: Axes | None = None) -> Axes:
    """Distribution of the total uncertainty of right and of wrong predictions.

    Parameters
    ----------
    evidence : Evidence
        Predictions on labelled rows.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    """
    ax = axes(ax, 2.8)
    wrong, value = evidence.wrong, evidence.total
    edges = np.linspace(value.min(), value.max() + 1e-9, 24)
    names = ("right", "wrong") if evidence.p is not None else ("smaller half of errors", "larger half of errors")
    for rows, name, colour in ((~wrong, names[0], ACCENT), (wrong, names[1], WARM)):
        if rows.any():
            height = np.histogram(value[rows], edges)[0] / rows.sum()
            ax.stairs(height, edges, fill=True, color=colour, alpha=0.28)
            ax.stairs(height, edges, color=colour, lw=1.6, label=f"{name} ({rows.sum()})")
    unit = "nats" if evidence.p is not None else "unit of the target"
    ax.set(xlabel=f"total uncertainty ({unit})", ylabel="share of rows")
    ax.legend()
    ax.grid(axis="y")
    return ax


def confusion(evidence: Evidence, task: int | None = None) -> Array:
    """(C, C) counts: true class by predicted class."""
    assert evidence.p is not None
    rows = np.arange(len(evidence.y)) if task is None else evidence.rows(task)
    n = evidence.p.shape[1]
    pairs = evidence.y[rows] * n + evidence.p[rows].argmax(axis=1)
    return np.bincount(pairs, minlength=n * n).reshape(n, n)


def plot_confusion(evidence: Evidence, task: int | None = None, ax: Axes | None = None) -> Axes:
    """True class (rows) by predicted class (columns), as a share of the true class.

    Parameters
    ----------
    evidence : Evidence
        Predictions on labelled rows.
    task : int, default=None
        One task by its number; None is all rows.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    """
    from vmtl.report.plots.relatedness import draw_map

    assert evidence.classes is not None
    counts = confusion(evidence, task)
    kept = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:MOST_IN_FIGURE])
    share = counts[np.ix_(kept, kept)] / np.maximum(counts[kept].sum(axis=1, keepdims=True), 1)
    names = [short(evidence.classes[c]) for c in kept]
    ax = axes(ax, 1.2 + min(0.42 * len(kept), 4.2))
    draw_map(ax, share, names, names)
    ax.set(xlabel="predicted", ylabel="true")
    return ax


def plot_predictions(evidence: Evidence, ax: Axes | None = None) -> Axes:
    """Predicted against true values of a regression; on the dashed line they agree.

    Parameters
    ----------
    evidence : Evidence
        Predictions on labelled rows.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    """
    assert evidence.mean is not None
    ax = axes(ax, 3.6)
    rows = np.random.default_rng(0).permutation(len(evidence.y))[:2000]
    ends = [float(min(evidence.y.min(), evidence.mean.min())), float(max(evidence.y.max(), evidence.mean.max()))]
    ax.plot(ends, ends, color=MUTED, lw=1, ls=(0, (4, 3)))
    ax.plot(evidence.y[rows], evidence.mean[rows], "o", ms=3.5, mew=0, color=ACCENT, alpha=0.7)
    ax.set(xlabel="true", ylabel="predicted")
    ax.grid(color=LINE)
    return ax
