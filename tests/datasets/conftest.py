"""The three logistic regressions that a user would type."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from vmtl._utils.types import Array
from vmtl.data.problem import Problem
from vmtl.data.splits import Split

Reference = Callable[..., dict[str, float]]


@pytest.fixture(scope="session")
def reference() -> Reference:
    """Accuracies in percent, averaged over tasks: a model per task, one pooled, one on augmented features."""
    return _accuracies


def _accuracies(problem: Problem, split: Split, C: float, X: Array | None = None) -> dict[str, float]:
    X = np.asarray(problem.X if X is None else X, dtype=np.float64)
    y, task, T = problem.y, problem.task, problem.n_tasks
    private = [X * (task == t)[:, None] for t in range(T)]
    predicted = {
        "pooled": _fit_predict(X, y, split.train, C),
        "augmented": _fit_predict(np.concatenate([X, *private], axis=1), y, split.train, C),
        "per task": np.empty_like(y),
    }
    for t in range(T):
        own = split.train[task[split.train] == t]
        predicted["per task"][task == t] = _fit_predict(X, y, own, C)[task == t]
    rows = [split.test[task[split.test] == t] for t in range(T)]
    return {name: 100 * float(np.mean([np.mean(p[r] == y[r]) for r in rows])) for name, p in predicted.items()}


def _fit_predict(X: Array, y: Array, train: Array, C: float) -> Array:
    return np.asarray(LogisticRegression(C=C, max_iter=5000).fit(X[train], y[train]).predict(X))
