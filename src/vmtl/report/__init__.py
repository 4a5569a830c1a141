"""What a model is worth, for people: figures as Matplotlib axes, tables, and one page that holds them all.

>>> from vmtl.evaluation import gather
>>> from vmtl.report import plot_relatedness, plot_reliability, render
"""

from vmtl.report.arrows import Arrow, Control, arrows, even_weight, fit_control
from vmtl.report.finding import Finding, read_map, read_model
from vmtl.report.page import render
from vmtl.report.plots.decisions import plot_precision_recall, plot_roc
from vmtl.report.plots.importance import plot_importance
from vmtl.report.plots.learning import plot_learning
from vmtl.report.plots.relatedness import plot_arrows, plot_control, plot_positions, plot_relatedness, plot_sharing
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
    "Finding",
    "arrows",
    "even_weight",
    "fit_control",
    "plot_arrows",
    "plot_confusion",
    "plot_control",
    "plot_gains",
    "plot_importance",
    "plot_learning",
    "plot_positions",
    "plot_precision_recall",
    "plot_predictions",
    "plot_relatedness",
    "plot_reliability",
    "plot_roc",
    "plot_scores",
    "plot_sharing",
    "plot_uncertainty",
    "read_map",
    "read_model",
    "render",
]
