"""What a record may hold of a fitted model beside its scores: curves, maps, attacks, single rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.paper.run.attack import attacked, input_gradient
from vmtl._utils.types import Array
from vmtl.data.problem import Problem
from vmtl.data.subsampling import evenly_spaced
from vmtl.estimators import VMTLClassifier
from vmtl.estimators.base import BaseTaskEstimator
from vmtl.estimators.classification import BaseTaskClassifier
from vmtl.estimators.metrics.class_metrics import accuracy
from vmtl.paper.model import Model

#: Noise levels of the attack, in standard deviations of the features.
LEVELS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3)
#: Points of a loss curve that a record keeps.
CURVE_POINTS = 60


def class_probabilities(model: BaseTaskClassifier, test: Problem, X: Array | None = None) -> Array:
    """(n, C) in the problem's numbering of classes; a class that no training row has gets 0."""
    p = np.zeros((test.n_rows, test.n_classes))
    column = [(test.class_names or ()).index(name) for name in model.classes_]
    p[:, column] = model.predict_proba(test.X if X is None else X, tasks=test.tasks)
    return p


def _history(model: BaseTaskEstimator, test: Problem) -> dict[str, object]:
    """The loss and its terms, averaged over tasks, at up to ``CURVE_POINTS`` steps: NLL + KL_z + KL_w as they count."""
    history = model.history_
    rows = dict(zip(model.tasks_, model._fitted.model.task_rows.tolist(), strict=True))
    share = 1 / history["task"].map(rows).astype(float) if model.settings_.divide_kl_w else 1.0
    loss = history["nll"] + history["kl_scale_z"] * history["kl_z"] + history["kl_scale_w"] * history["kl_w"] * share
    table = history.assign(loss=loss).groupby("step").mean(numeric_only=True)
    kept = table.iloc[evenly_spaced(len(table), CURVE_POINTS)]
    return {"step": kept.index.tolist(), **{name: kept[name].tolist() for name in ("loss", "nll", "kl_z", "kl_w")}}


def _mixing(model: BaseTaskEstimator, test: Problem) -> dict[str, object]:
    """alpha and beta as lists of rows, and the tasks that index them."""
    tables = {name: getattr(model, f"{name}_", None) for name in ("alpha", "beta")}  # not of thousands of tasks
    shown = {name: table.to_numpy().tolist() for name, table in tables.items() if table is not None}
    return {"tasks": list(model.tasks_), **shown}


def _attack(model: BaseTaskEstimator, test: Problem) -> dict[str, object]:
    """Accuracy of every task under the fast gradient sign method at every noise level."""
    if not isinstance(model, VMTLClassifier):
        raise ValueError("The attack needs a gradient: measure it on a classification problem of the paper's methods.")
    gradient = input_gradient(model, test)
    curves: dict[str, list[float]] = {name: [] for name in test.task_names}
    for level in LEVELS:
        p = class_probabilities(model, test, attacked(test, gradient, level))
        for t, name in enumerate(test.task_names):
            rows = test.task == t
            curves[name].append(accuracy(test.y[rows], p[rows]))
    return {"levels": list(LEVELS), "accuracy": curves}


def _correct(model: BaseTaskEstimator, test: Problem) -> dict[str, object]:
    """Which test rows of every task are labelled rightly: one bit a row, in hexadecimal."""
    if not isinstance(model, BaseTaskClassifier):
        raise ValueError("Rows are right or wrong in a classification problem only.")
    right = class_probabilities(model, test).argmax(1) == test.y
    return {name: np.packbits(right[test.task == t]).tobytes().hex() for t, name in enumerate(test.task_names)}


def _classifiers(model: BaseTaskEstimator, test: Problem) -> dict[str, object]:
    """How different the tasks' classifiers are, and how many test labels change if all tasks have the first one's."""
    if not isinstance(model, VMTLClassifier):
        raise ValueError("Labels change in a classification problem of the paper's methods only.")
    first = replace(test, task=np.zeros_like(test.task))
    labels, of_first = (class_probabilities(model, rows).argmax(1) for rows in (test, first))
    return {"spread": spread_of_classifiers(model._fitted.model), "changed": int(np.sum(labels != of_first))}


def spread_of_classifiers(model: Model) -> float:
    """Root mean square distance of the tasks' classifiers from their mean, over the size of that mean."""
    means = model.q_w().mean.detach()  # (T, C, K + 1)
    centre = means.mean(0)
    return float((means - centre).square().mean().sqrt() / centre.square().mean().sqrt())


MEASURES: dict[str, Callable[[BaseTaskEstimator, Problem], dict[str, object]]] = {
    "history": _history,
    "mixing": _mixing,
    "attack": _attack,
    "correct": _correct,
    "classifiers": _classifiers,
}
