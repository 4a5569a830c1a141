"""Scores of a prediction on test rows."""

from __future__ import annotations

import numpy as np
from scipy import stats
from sklearn.metrics import roc_auc_score

from benchmarks.peers.peer import LEAST_PROBABILITY, Prediction
from benchmarks.peers.sets import Problem

#: Central intervals whose coverage is measured: the tool's own, or mean +- z std.
LEVEL = 0.9


def score(problem: Problem, found: Prediction) -> dict[str, float]:
    """All scores over all test rows; what is not finite is an error of the peer."""
    values = _classify(problem, found) if problem.is_classification else _regress(problem, found)
    broken = [name for name, value in values.items() if not np.isfinite(value)]
    if broken:
        raise ValueError(f"{', '.join(broken)} of the predictions is not a finite number.")
    return values


def _classify(problem: Problem, found: Prediction) -> dict[str, float]:
    """p below ``LEAST_PROBABILITY`` counts as that; then rows sum to 1 again."""
    y, p = problem.test.y, np.asarray(found.p, dtype=np.float64)
    if p.shape != (len(y), problem.n_classes):
        raise ValueError(f"Probabilities have shape {p.shape}, not {(len(y), problem.n_classes)}.")
    p = np.maximum(p, LEAST_PROBABILITY)
    p /= p.sum(axis=1, keepdims=True)
    values = {
        "nll": float(-np.log(p[np.arange(len(y)), y]).mean()),
        "accuracy": float((p.argmax(axis=1) == y).mean()),
        "brier": float(np.square(p - np.eye(problem.n_classes)[y]).sum(axis=1).mean()),
    }
    if problem.kind == "binary":
        values["auc"] = float(roc_auc_score(y, p[:, 1]))
    return values


def _regress(problem: Problem, found: Prediction) -> dict[str, float]:
    """Gaussian likelihood and intervals; spread is the standard deviation of the test rows, for scale."""
    y, mean, std = problem.test.y, np.asarray(found.mean, dtype=float), np.asarray(found.std, dtype=float)
    half = stats.norm.ppf((1 + LEVEL) / 2) * std
    low, high = (mean - half, mean + half) if found.ends is None else np.asarray(found.ends, dtype=float).T
    return {
        "rmse": float(np.sqrt(np.square(y - mean).mean())),
        "nll": float(-stats.norm.logpdf(y, mean, std).mean()),
        "coverage": float(((low <= y) & (y <= high)).mean()),
        "width": float((high - low).mean()),
        "spread": float(y.std()),
    }
