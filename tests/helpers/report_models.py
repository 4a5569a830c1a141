"""What the tests of the report share: fitted models with labelled rows, and findings that are made up."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl.evaluation import Evidence, Importance, Interval, Labelled, gather


@dataclass(frozen=True)
class Case:
    """A fitted model, the rows it was fitted to, others, and its predictions on those."""

    model: Any
    train: Labelled
    test: Labelled
    evidence: Evidence


def make_case(kind: str, names: tuple[str, ...] = ("north", "south", "west")) -> Case:
    """Three tasks; the first two alike, the third with its own weights."""
    rng = np.random.default_rng(0)

    def rows(n: int) -> Labelled:
        X = rng.normal(size=(n, 4))
        task = np.arange(n) % len(names)
        score = X[:, 0] + np.where(task == 2, -1, 1) * X[:, 1] + 0.1 * rng.normal(size=n)
        y: Any = score * 10 if kind == "real" else np.array(["low", "mid", "top"])[np.digitize(score, [-0.7, 0.7])]
        return Labelled(X, y, np.array(names, dtype=object)[task])

    train, test = rows(60), rows(150)
    estimator = MultiTaskRegressor if kind == "real" else MultiTaskClassifier
    model = estimator(random_state=0).fit(train.X, train.y, tasks=train.tasks)
    return Case(model, train, test, gather(model, test.X, test.y, test.tasks))


def with_weights(model: Any, weights: Any) -> Any:
    """A copy of ``model`` that says it learned these mixing weights, without intervals."""
    shown = copy(model)
    names = [str(name) for name in model.tasks_]
    table = pd.DataFrame(np.asarray(weights, dtype=float), index=names, columns=names)

    class Shown(type(model)):  # type: ignore[misc]
        alpha_ = beta_ = table
        alpha_interval_ = beta_interval_ = None

    shown.__class__ = Shown
    return shown


EVEN = (1 - np.eye(3)) / 2
UNEVEN = np.array([[0, 0.9, 0.1], [0.9, 0, 0.1], [0.5, 0.5, 0]])


def event_evidence() -> Evidence:
    """Predictions of a rare event in two tasks, in the second less sure."""
    rng = np.random.default_rng(0)
    task = np.arange(200) % 2
    event = (rng.random(200) < 0.2).astype(int)
    p = 1 / (1 + np.exp(1.5 - (2.5 - task) * event + rng.normal(size=200)))
    both, zeros = np.column_stack([1 - p, p]), np.zeros(200)
    return Evidence(("a", "b"), ("healthy", "relapse"), task, event, both, None, None, zeros, zeros)


def importance(n_tasks: int, worth: float = 1.0, n_columns: int = 3) -> Importance:
    """Columns that are worth 0.1 less each, the first ``worth``, to every task the same."""
    names = tuple(f"column {number}" for number in range(n_columns))
    overall = tuple(Interval(worth - 0.1 * k, worth - 0.1 * k - 0.05, worth - 0.1 * k + 0.05) for k in range(n_columns))
    of_tasks = tuple(tuple(Interval(w.value, np.nan, np.nan) for _ in range(n_tasks)) for w in overall)
    return Importance(names, tuple(f"t{t}" for t in range(n_tasks)), overall, of_tasks, "nats per row", 90, 500)
