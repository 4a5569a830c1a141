"""Default fits from a hundred rows to hundreds of thousands, from twenty tasks to ten thousand, and beside a forest."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np

Array = np.ndarray
#: Rows or tasks of a fit, and the goal in seconds on two idle cores.
ROWS = {100: 1.0, 500: 2.0, 2_000: 6.0, 20_000: 60.0, 200_000: 600.0}
TASKS = {100: 5.0, 1_000: 20.0, 10_000: 180.0}
#: Rows and tasks of a table, and how many times the seconds of a forest a fit may take, on one thread.
FOREST = {(60, 20): 1.5, (500, 20): 1.0, (5_000, 20): 0.5, (10_000, 1_000): 1.0}
#: Rows and tasks at which the exact fit can be had, too.
LIKELIHOOD = ((2_000, 20), (2_000, 200))


def table(n_rows: int, n_tasks: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Two classes of 20 columns: slopes that tasks share but for a part, and a curved term; rows dealt evenly."""
    rng = np.random.default_rng(seed)
    X, tasks = rng.normal(size=(n_rows, 20)), np.arange(n_rows) % n_tasks
    slopes = rng.normal(size=20) + 0.4 * rng.normal(size=(n_tasks, 20))
    signal = (X * slopes[tasks]).sum(1) / 20**0.5 + np.sin(2 * X[:, 0])
    return X, (signal + 0.5 * rng.normal(size=n_rows) > 0).astype(int), tasks


def fit_program(n_rows: int, n_tasks: int, threads: int) -> Callable[[], Any]:
    """A default fit, everything included."""
    from vmtl import MultiTaskClassifier

    X, y, tasks = table(n_rows, n_tasks)
    return lambda: MultiTaskClassifier(random_state=0, n_threads=threads).fit(X, y, tasks=tasks)


def forest_program(n_rows: int, n_tasks: int) -> Callable[[], Any]:
    """A random forest of 500 trees with the task as a column, on one thread."""
    from sklearn.ensemble import RandomForestClassifier

    X, y, tasks = table(n_rows, n_tasks)
    return lambda: RandomForestClassifier(500, n_jobs=1, random_state=0).fit(np.column_stack([X, tasks]), y)


def likelihood_lost(n_rows: int, n_tasks: int, threads: int, n_new: int = 5_000) -> float:
    """By which part the mean log loss of new rows is larger than that of the exact fit.

    The exact fit searches hyperparameters on all rows; the other on as many as of a large table, and solves without a
    table of all pairs.
    """
    from sklearn.metrics import log_loss

    from vmtl import MultiTaskClassifier
    from vmtl.gp import fit, posterior

    X, y, tasks = table(n_rows + n_new, n_tasks)
    seen, new = slice(n_rows), slice(n_rows, None)
    losses = []
    limits = {"SEARCH_ROWS": fit.SEARCH_ROWS, "SEARCH_CELLS": fit.SEARCH_CELLS}
    for searched, gram_rows in (({"SEARCH_ROWS": n_rows, "SEARCH_CELLS": np.inf}, n_rows), (limits, 0)):
        with patch.multiple(fit, **searched), patch.object(posterior, "MAX_GRAM_ROWS", gram_rows):
            model = MultiTaskClassifier(random_state=0, n_threads=threads).fit(X[seen], y[seen], tasks=tasks[seen])
        losses.append(log_loss(y[new], model.predict_proba(X[new], tasks=tasks[new])))
    exact, approximate = losses
    return approximate / exact - 1


def text_program(threads: int) -> Callable[[], Any]:
    """1,600 rows of 5,000 word counts in four tasks."""
    from scipy import sparse

    from vmtl import MultiTaskClassifier

    rng = np.random.default_rng(0)
    tasks, y = np.arange(1_600) % 4, rng.integers(0, 2, 1_600)
    rates = 0.02 * rng.gamma(0.5, size=(2, 5_000))
    X = sparse.csr_matrix(rng.poisson(rates[y]).astype(float))
    return lambda: MultiTaskClassifier(random_state=0, n_threads=threads).fit(X, y, tasks=tasks)


def prediction_seconds(n_rows: int, threads: int) -> float:
    """Probabilities of so many rows, from a model of 2,000."""
    from vmtl import MultiTaskClassifier

    X, y, tasks = table(2_000, 20)
    model = MultiTaskClassifier(random_state=0, n_threads=threads).fit(X, y, tasks=tasks)
    new, _, new_tasks = table(n_rows, 20, seed=1)
    start = time.perf_counter()
    model.predict_proba(new, tasks=new_tasks)
    return time.perf_counter() - start
