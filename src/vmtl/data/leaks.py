"""Columns that give the target away: each alone predicts it almost perfectly."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from vmtl._utils.types import Array
from vmtl.data.column_format import ColumnFormat
from vmtl.data.column_types import column_formats
from vmtl.data.columns import as_levels, as_numbers

if TYPE_CHECKING:
    import pandas as pd

#: Rows that are looked at, at most and at least, and rows that a class needs to be looked at.
MOST_ROWS, LEAST_ROWS, LEAST_OF_CLASS = 1000, 30, 5
#: Balanced accuracy, or R^2, of left-out rows from which on one column alone is too good.
TOO_GOOD = {"classification": 0.98, "regression": 0.99}
N_FOLDS = 5
#: Chance of a difference between ranges of a column, below which it tells something about the target.
TELLING = 0.05


def find_leaks(
    X: pd.DataFrame, y: Array, is_classification: bool, done: Callable[[str], None] = lambda name: None
) -> dict[str, float]:
    """Names of the columns that predict the target alone, with their score on left-out rows.

    Each column alone is given to a decision tree, and in regression to a line: balanced accuracy, or R^2, of five-fold
    cross-validation on at most 1,000 rows. A gap is a value like any other: a date that only the dead have is a leak
    too. ``done`` is called with each name when it was looked at.
    """
    kind = "classification" if is_classification else "regression"
    rows = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    if is_classification:
        label, count = np.unique(y[rows], return_counts=True)
        rows = rows[np.isin(y[rows], label[count >= LEAST_OF_CLASS])]
    if len(rows) < LEAST_ROWS or len(np.unique(y[rows])) < 2:
        return {}
    score, leaks = (_class_score if is_classification else _real_score), {}
    halves, folds = np.arange(len(rows)) % 2, np.arange(len(rows)) % N_FOLDS
    formats = column_formats(X)
    for name in X.columns:
        values = _numbers(X[name].iloc[rows], formats[str(name)])
        if len(np.unique(values)) > 1 and score(values, y[rows], halves) >= TOO_GOOD[kind] - 0.05:
            cross_validated = score(values, y[rows], folds)
            if cross_validated >= TOO_GOOD[kind]:
                leaks[str(name)] = cross_validated
        done(str(name))
    return leaks


def tells_target(values: Array, y: Array, task: Array, is_classification: bool) -> bool:
    """Whether the target, or a class, is more frequent in some of five ranges of a column (n,), within tasks."""
    from scipy.stats import kruskal

    known = ~np.isnan(values)
    order = np.argsort(np.argsort(values[known], kind="stable"), kind="stable")
    ranges = order * N_FOLDS // max(1, len(order))
    if len(order) < N_FOLDS or len(np.unique(y[known])) < 2:
        return False
    classes = np.flatnonzero(np.bincount(y) >= LEAST_OF_CLASS) if is_classification else [None]
    counts = np.maximum(1, np.bincount(task))
    for label in classes:
        target = y if label is None else (y == label).astype(float)
        apart = (target - (np.bincount(task, weights=target) / counts)[task])[known]
        parts = [apart[ranges == k] for k in range(N_FOLDS)]
        if np.ptp(apart) > 0 and kruskal(*parts).pvalue * len(classes) < TELLING:
            return True
    return False


def _numbers(column: pd.Series, form: ColumnFormat) -> Array:
    """(n, 1) one number per cell; a gap is a number below all others."""
    if form.kind == "text":
        return np.unique(as_levels(column).astype(str), return_inverse=True)[1].reshape(-1, 1).astype(float)
    values = as_numbers(column, form)
    known = values[~np.isnan(values)]
    below = known.min() - 1 - np.ptp(known) if len(known) else 0.0
    return np.where(np.isnan(values), below, values)[:, None]


def _class_score(values: Array, y: Array, fold: Array) -> float:
    """Balanced accuracy of left-out rows."""
    from sklearn.metrics import recall_score
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(min_samples_leaf=2, class_weight="balanced", random_state=0)
    predicted = _left_out(tree, values, y, fold)
    return float(recall_score(y, predicted, labels=np.unique(y), average="macro", zero_division=0.0))


def _real_score(values: Array, y: Array, fold: Array) -> float:
    """R^2 of left-out rows, by a tree or by a line, whichever is better."""
    from sklearn.linear_model import LinearRegression
    from sklearn.metrics import r2_score
    from sklearn.tree import DecisionTreeRegressor

    models = (DecisionTreeRegressor(min_samples_leaf=2, random_state=0), LinearRegression())
    return max(float(r2_score(y, _left_out(model, values, y, fold))) for model in models)


def _left_out(model: Any, values: Array, y: Array, fold: Array) -> Array:
    """(n,) predictions of every fold by the others."""
    predicted = np.empty_like(y)
    for number in np.unique(fold):
        held = fold == number
        predicted[held] = model.fit(values[~held], y[~held]).predict(values[held])
    return predicted
