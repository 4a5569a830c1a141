"""What a model is worth, for people: figures as Matplotlib axes, tables, and one page that holds them all.

>>> from vmtl.report import gather, plot_relatedness, plot_reliability, render
"""

from vmtl.evaluation.comparison import Gain, Labelled, compare, count_repeated, gains, lead, names_to_compare
from vmtl.evaluation.evidence import Evidence, gather, perfect_ece
from vmtl.evaluation.intervals import Interval
from vmtl.report.arrows import Arrow, Control, arrows, clear_arrows, even_weight, fit_control
from vmtl.report.page import render
from vmtl.report.plots.learning import plot_learning
from vmtl.report.plots.relatedness import plot_arrows, plot_control, plot_relatedness
from vmtl.report.plots.scores import (
    plot_confusion,
    plot_gains,
    plot_predictions,
    plot_reliability,
    plot_scores,
    plot_uncertainty,
)

__all__ = [
    "Arrow",
    "Control",
    "Evidence",
    "Gain",
    "Interval",
    "Labelled",
    "arrows",
    "clear_arrows",
    "compare",
    "count_repeated",
    "even_weight",
    "fit_control",
    "gains",
    "gather",
    "lead",
    "names_to_compare",
    "perfect_ece",
    "plot_arrows",
    "plot_confusion",
    "plot_control",
    "plot_gains",
    "plot_learning",
    "plot_predictions",
    "plot_relatedness",
    "plot_reliability",
    "plot_scores",
    "plot_uncertainty",
    "render",
]
