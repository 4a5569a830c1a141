"""Metrics by the names that users type."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from vmtl._utils.messages import did_you_mean
from vmtl._utils.types import Array
from vmtl.estimators.metrics import class_metrics, real_metrics

Score = TypeVar("Score")

#: Scores of class numbers y (n,) and probabilities (n, C).
CLASS_METRICS: dict[str, Callable[[Array, Array], float]] = {
    "accuracy": class_metrics.accuracy,
    "balanced_accuracy": class_metrics.balanced_accuracy,
    "auc": class_metrics.auc,
    "f1": class_metrics.f1,
    "brier": class_metrics.brier,
    "nll": class_metrics.nll,
    "ece": class_metrics.ece,
}
#: Scores of targets y (n,), predicted means (n,) and deviations (n,).
REAL_METRICS: dict[str, Callable[[Array, Array, Array], float]] = {
    "r2": lambda y, mean, std: real_metrics.r2(y, mean),
    "mae": lambda y, mean, std: real_metrics.mae(y, mean),
    "rmse": lambda y, mean, std: real_metrics.rmse(y, mean),
    "nmse": lambda y, mean, std: real_metrics.nmse(y, mean),
    "nll": real_metrics.gaussian_nll,
    "coverage": real_metrics.coverage,
}


def metric_named(name: str | None, known: dict[str, Score]) -> Score:
    """The metric of this name, the first of all if None, or an error that names them."""
    if name is None:
        return next(iter(known.values()))
    if name not in known:
        raise ValueError(f"There is no metric {name!r}{did_you_mean(name, known)}; choose one of {', '.join(known)}.")
    return known[name]
