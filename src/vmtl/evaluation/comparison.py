"""The same rows learned in other ways: what tasks may share, the paper's methods, and the plain linear models."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.stats import norm
from sklearn.base import clone

from vmtl._utils.types import Array, MatrixLike
from vmtl.data.duplicates import row_digests
from vmtl.data.problem import Problem
from vmtl.estimators.base import BaseTaskEstimator
from vmtl.evaluation.intervals import LEVEL, Interval, of_mean
from vmtl.evaluation.references import REFERENCES, fit_reference
from vmtl.evaluation.scored_predictions import Evidence, gather
from vmtl.paper.methods import METHODS

#: What learns every task alone (``relatedness`` of the default, or a method), and what learns all rows as one task.
ALONE, POOLED = ("none", "stl"), "pooled"
#: What ``relatedness`` of the default may be, beside "learned".
OTHER_RELATEDNESS = ("none", "pooled", "even")
Verdict = Literal["helped", "hurt", "no clear difference"]


@dataclass(frozen=True)
class Labelled:
    """Labelled rows: features, targets and tasks as the estimators take them."""

    X: MatrixLike
    y: Array
    tasks: Array


@dataclass(frozen=True)
class Gain:
    """What a task gains from the others.

    gain : accuracy minus accuracy alone, or the share of the squared error alone that is removed.
    """

    task: str
    gain: Interval
    verdict: Verdict


def names_to_compare(model: BaseTaskEstimator, wanted: Sequence[str] | None = None) -> list[str]:
    """Variants of ``model`` and reference rows to set beside it; every one that exists, if none is named.

    Variants of the default are the other values of ``relatedness``, those of the paper's system are its methods.

    Parameters
    ----------
    model : estimator
        A fitted estimator.
    wanted : sequence of str, default=None
        Some names; None is every one that exists.
    """
    known = [*_variants(model), *REFERENCES]
    unknown = [name for name in wanted or () if name not in known]
    if unknown:
        raise ValueError(f"There is nothing called {unknown[0]!r} to compare with; choose among {', '.join(known)}.")
    own = getattr(model, "method", getattr(model, "relatedness", None))
    return [name for name in (wanted or known) if name != own]


def alone_of(others: Mapping[str, Evidence]) -> Evidence | None:
    """The predictions of every task learned alone, if they are among ``others``."""
    return next((others[name] for name in ALONE if name in others), None)


def _variants(model: BaseTaskEstimator) -> Sequence[str]:
    return list(METHODS) if hasattr(model, "method") else OTHER_RELATEDNESS


def compare(
    model: BaseTaskEstimator,
    evidence: Evidence,
    train: Labelled,
    test: Labelled,
    names: Sequence[str],
    done: Callable[[str], None] = lambda name: None,
) -> dict[str, Evidence]:
    """Fit every name on ``train`` with the settings of ``model`` and predict ``test``, of which it has ``evidence``.

    Parameters
    ----------
    model : estimator
        A fitted estimator.
    evidence : Evidence
        Its predictions on ``test``.
    train : Labelled
        The rows that all are fitted on.
    test : Labelled
        The rows that all are scored on.
    names : sequence of str
        Methods and reference rows.
    done : callable, optional
        Called with each name when it is finished.
    """
    others = {}
    train_numbers, test_numbers = (_problem(model, evidence, side) for side in (train, test))
    for name in names:
        if name in REFERENCES:
            others[name] = _reference(name, evidence, train_numbers, test_numbers, int(model.seed_) % 2**31)
        else:
            variant = {"method" if hasattr(model, "method") else "relatedness": name}
            other = clone(model).set_params(**variant, verbose=0).fit(train.X, train.y, tasks=train.tasks)
            others[name] = replace(gather(other, test.X, test.y, test.tasks), positive=evidence.positive)
        done(name)
    return others


def gains(evidence: Evidence, alone: Evidence) -> list[Gain]:
    """Paired differences of every task that has rows; where the interval leaves out 0, the others helped or hurt.

    Parameters
    ----------
    evidence : Evidence
        Predictions on labelled rows.
    alone : Evidence
        Predictions for the same rows with every task learned alone.
    """
    of_tasks = []
    for t in evidence.present:
        rows = evidence.rows(t)
        scale = 1.0 if evidence.p is not None else float(alone.loss[rows].mean()) or 1.0
        gain = of_mean((alone.loss[rows] - evidence.loss[rows]) / scale)
        verdict: Verdict = "helped" if gain.low > 0 else "hurt" if gain.high < 0 else "no clear difference"
        of_tasks.append(Gain(evidence.tasks[t], gain, verdict))
    return of_tasks


def lead(first: Evidence, second: Evidence) -> Interval:
    """How much better the mean over tasks of ``first`` is, with the interval of differences that are paired by rows.

    Parameters
    ----------
    first : Evidence
        Predictions of one model.
    second : Evidence
        Predictions of another model for the same rows.
    """
    variance = 0.0
    for t in first.present:
        parts = [_shares(e.loss[e.rows(t)], e.p is None) for e in (first, second)]
        n = len(parts[0])
        variance += float(np.var(parts[0] - parts[1], ddof=1)) / n if n > 1 else math.nan
    sign = 1 if first.p is not None else -1
    value = sign * (first.mean_score() - second.mean_score())
    half = float(norm.ppf((1 + LEVEL) / 2)) * math.sqrt(variance) / len(first.present)
    return Interval(value, value - half, value + half)


def _shares(loss: Array, root: bool) -> Array:
    """What each row adds to a task's score, to first order: its loss, or its squared error / (2 RMSE)."""
    return loss / (2 * math.sqrt(float(loss.mean())) or 1.0) if root else loss


def count_repeated(model: BaseTaskEstimator, evidence: Evidence, train: Labelled, test: Labelled) -> int:
    """Rows of ``test`` that are also in ``train``: equal features as the model reads them, target and task.

    Parameters
    ----------
    model : estimator
        A fitted estimator.
    evidence : Evidence
        Its predictions on ``test``.
    train : Labelled
        Training rows.
    test : Labelled
        Rows to score.
    """
    of_train, of_test = (_digests(_problem(model, evidence, side)) for side in (train, test))
    known = set(of_train)
    return sum(digest in known for digest in of_test)


def _digests(rows: Problem) -> Iterator[bytes]:
    features = np.asarray(rows.X, dtype=np.float32).reshape(len(rows.y), -1)
    return row_digests(features, rows.y.astype(np.float32), rows.task)


def _reference(name: str, like: Evidence, train: Problem, test: Problem, seed: int) -> Evidence:
    linear = fit_reference(REFERENCES[name], train, test, None, seed)
    unknown = np.zeros(len(test.y))
    predicted = replace(like, p=linear.p, mean=linear.mean, std=linear.std)
    return replace(predicted, total=unknown, epistemic=unknown, covered=None, extent=None)


def _problem(model: BaseTaskEstimator, like: Evidence, side: Labelled) -> Problem:
    """Rows as numbers and codes, with the model's encoding of raw columns."""
    X = side.X if model.preprocessor_ is None else model.preprocessor_.transform(side.X)
    place = {name: code for code, name in enumerate(like.tasks)}
    task = np.array([place.setdefault(str(name), len(place)) for name in side.tasks], dtype=np.int64)
    if like.classes is None:
        return Problem("table", np.asarray(X), np.asarray(side.y, dtype=np.float32), task, tuple(place))
    label = {name: code for code, name in enumerate(like.classes)}
    y = np.array([label[str(value)] for value in side.y], dtype=np.int64)
    return Problem("table", np.asarray(X), y, task, tuple(place), like.classes)
