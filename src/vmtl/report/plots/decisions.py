"""Figures over all thresholds: ROC and precision-recall curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vmtl._utils.types import Array
from vmtl.evaluation.decisions import Costs, Curves, curves, decide
from vmtl.evaluation.scored_predictions import Evidence
from vmtl.report.style import ACCENT, MUTED, WARM, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Thin lines at most: tasks, or classes where there are more than two.
MOST_LINES = 12
#: Where the curves of classes are averaged.
GRID = np.linspace(0, 1, 101)


def plot_roc(evidence: Evidence, costs: Costs | None = None, ax: Axes | None = None) -> Axes:
    """ROC curves, events found by false alarms: thick for all rows, thin for tasks, or for classes against all others.

    Parameters
    ----------
    evidence : Evidence
        Predictions of classes.
    costs : Costs, default=None
        Of two classes: mark the threshold that these costs ask for.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    """
    ax = axes(ax, 3.4)
    ax.plot([0, 1], [0, 1], color=MUTED, lw=1, ls=(0, (4, 3)))
    for curve in thin_curves(evidence):
        ax.plot(curve.false_alarm_rate, curve.sensitivity, color=MUTED, lw=0.9, alpha=0.6)
    ax.plot(*thick_roc(evidence), color=ACCENT, lw=2)
    if costs is not None and is_binary(evidence):
        chosen = decide(evidence, costs)
        ax.plot(1 - chosen.specificity, chosen.sensitivity, "o", ms=7, color=WARM, zorder=4)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.02), aspect="equal")
    ax.set(xlabel="false alarms among rows without it", ylabel="found among rows with it")
    ax.grid()
    return ax


def plot_precision_recall(evidence: Evidence, costs: Costs | None = None, ax: Axes | None = None) -> Axes:
    """Precision by recall, over all thresholds: a thick line for all rows, thin ones for tasks, or for classes.

    Parameters
    ----------
    evidence : Evidence
        Predictions of classes.
    costs : Costs, default=None
        Of two classes: mark the threshold that these costs ask for.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    """
    ax = axes(ax, 3.4)
    for curve in thin_curves(evidence):
        ax.plot(curve.recall, curve.precision, color=MUTED, lw=0.9, alpha=0.6)
    if is_binary(evidence) and (overall := curves(evidence)) is not None:
        ax.axhline(overall.prevalence, color=MUTED, lw=1, ls=(0, (4, 3)))
        ax.plot(overall.recall, overall.precision, color=ACCENT, lw=2)
        if costs is not None:
            chosen = decide(evidence, costs)
            ax.plot(chosen.sensitivity, chosen.precision, "o", ms=7, color=WARM, zorder=4)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.02), aspect="equal")
    ax.set(xlabel="found among rows with it (recall)", ylabel="right among announced (precision)")
    ax.grid()
    return ax


def is_binary(evidence: Evidence) -> bool:
    """Whether there is one event to announce."""
    return evidence.p is not None and evidence.p.shape[1] == 2


def thin_curves(evidence: Evidence) -> list[Curves]:
    """The curves of every task if there are two classes, else of every class."""
    if is_binary(evidence):
        tasks = evidence.present if len(evidence.present) > 1 else []
        candidates = (curves(evidence, rows=evidence.rows(t)) for t in tasks[:MOST_LINES])
    else:
        candidates = (curves(evidence, number) for number in range(min(MOST_LINES, len(evidence.classes or ()))))
    return [curve for curve in candidates if curve is not None]


def thick_roc(evidence: Evidence) -> tuple[Array, Array]:
    """The ROC curve of all rows; with more than two classes the mean over classes, each against all others."""
    numbers = [evidence.positive] if is_binary(evidence) else range(len(evidence.classes or ()))
    by_class = [curve for number in numbers if (curve := curves(evidence, number)) is not None]
    if len(by_class) == 1:
        return by_class[0].false_alarm_rate, by_class[0].sensitivity
    mean = np.mean([np.interp(GRID, curve.false_alarm_rate, curve.sensitivity) for curve in by_class], axis=0)
    return np.r_[0.0, GRID], np.r_[0.0, mean]
