"""Reference rows: what a user would type with scikit-learn instead of this package.

One logistic regression (ridge in regression) per task, one on all rows, or one on the augmented features
[x; x of the row's own task; 0 elsewhere] of Daumé (2007). Rows are centred and scaled by one number (mean
squared norm 1) or by columns; that scaling and C are chosen together by 3-fold cross-validation on the training
rows, or C is given. Features are rotated onto the span of the training rows first, which changes no prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge

from vmtl._utils.types import Array
from vmtl.data.problem import Problem
from vmtl.data.splits import kfold

#: Inverse regularisation strengths that cross-validation tries; ridge takes alpha = 1 / C.
GRID = tuple(10.0**k for k in range(-2, 5))
N_FOLDS = 3


@dataclass(frozen=True)
class Design:
    """Which rows a linear model sees together and whether features have a copy per task."""

    name: str
    separate: bool = False
    augmented: bool = False


REFERENCES: dict[str, Design] = {
    "per_task_linear": Design("one linear model per task", separate=True),
    "pooled_linear": Design("one linear model on all rows"),
    "augmented_linear": Design("one linear model on shared + per-task features", augmented=True),
}


@dataclass(frozen=True)
class LinearPrediction:
    """p (n, C) in classification; mean and std (n,) in regression; and what cross-validation chose."""

    p: Array | None
    mean: Array | None
    std: Array | None
    chosen: dict[str, float | str]


def scale_by_norm(train: Array, test: Array) -> tuple[Array, Array]:
    """(x - mean) / sqrt(mean squared norm of the centred training rows)."""
    mean = train.mean(axis=0)
    size = np.sqrt(np.square(train - mean).sum(axis=1).mean()) or 1.0
    return (train - mean) / size, (test - mean) / size


def scale_by_column(train: Array, test: Array) -> tuple[Array, Array]:
    """Columns with mean 0 and variance 1 / D on the training rows."""
    mean, spread = train.mean(axis=0), train.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0) * np.sqrt(train.shape[1])
    return (train - mean) / spread, (test - mean) / spread


SCALINGS: dict[str, Callable[[Array, Array], tuple[Array, Array]]] = {
    "norm": scale_by_norm,
    "column": scale_by_column,
}


def fit_reference(design: Design, train: Problem, test: Problem, C: float | None, seed: int) -> LinearPrediction:
    """Fit on ``train`` and predict the rows of ``test``; C None chooses it and the scaling by cross-validation.

    Parameters
    ----------
    design : Design
        One of ``REFERENCES``.
    train : Problem
        Training rows.
    test : Problem
        Rows to predict.
    C : float or None
        Inverse strength of the regularisation; None chooses it and the scaling by cross-validation.
    seed : int
        How the folds are drawn.
    """
    fit = _classify if train.is_classification else _regress
    rows = {name: _rotated(design, train, test, scale) for name, scale in SCALINGS.items()}
    scaling = "norm"
    if C is None:
        losses = _losses(design, train, {name: a for name, (a, _) in rows.items()}, seed)
        scaling, C = min(losses, key=lambda key: losses[key])
    chosen: dict[str, float | str] = {"C": C, "scaling": scaling}
    a, b = rows[scaling]
    p = fit(design, a, train, b, test.task, C)
    if train.is_classification:
        return LinearPrediction(p, None, None, chosen)
    residual = np.sqrt(_losses(design, train, {scaling: a}, seed, grid=(C,)).popitem()[1])
    return LinearPrediction(None, p, np.full(len(p), max(residual, 1e-12)), chosen)


def _rotated(
    design: Design, train: Problem, test: Problem, scale: Callable[[Array, Array], tuple[Array, Array]]
) -> tuple[Array, Array]:
    """Scaled features of both sides in an orthonormal basis of the training rows' span.

    Inner products of augmented rows are x.x' (1 + [same task]); a constant column has a copy per task too.
    """
    a, b = scale(np.asarray(train.X, dtype=np.float64), np.asarray(test.X, dtype=np.float64))
    if not design.augmented and a.shape[1] <= len(a):
        return a, b
    gram, cross = a @ a.T, b @ a.T
    if design.augmented:
        gram = gram + (gram + 1) * (train.task[:, None] == train.task)
        cross = cross + (cross + 1) * (test.task[:, None] == train.task)
    value, basis = np.linalg.eigh(gram)
    kept = value > 1e-10 * value[-1]
    root = np.sqrt(value[kept])
    return basis[:, kept] * root, cross @ (basis[:, kept] / root)


def _classify(design: Design, a: Array, train: Problem, b: Array, task: Array, C: float) -> Array:
    """(n, C) probabilities; a class of which a model has no training rows has probability 0."""
    p = np.zeros((len(b), train.n_classes))
    for rows, predicted in _parts(design, train.task, task):
        y = train.y[rows]
        if len(np.unique(y)) < 2:
            p[predicted, y[0]] = 1.0
        elif len(predicted):
            model = LogisticRegression(C=C, max_iter=2000, tol=1e-6).fit(a[rows], y)
            p[np.ix_(predicted, model.classes_)] = model.predict_proba(b[predicted])
    return p


def _regress(design: Design, a: Array, train: Problem, b: Array, task: Array, C: float) -> Array:
    """(n,) predictions in the unit of y."""
    mean = np.zeros(len(b))
    for rows, predicted in _parts(design, train.task, task):
        if len(predicted):
            mean[predicted] = Ridge(alpha=1 / C).fit(a[rows], train.y[rows].astype(np.float64)).predict(b[predicted])
    return mean


def _parts(design: Design, train_task: Array, test_task: Array) -> list[tuple[Array, Array]]:
    """Training rows of every model and the rows that it predicts; a task without any gets that of all rows."""
    if not design.separate:
        return [(np.arange(len(train_task)), np.arange(len(test_task)))]
    present = np.unique(train_task)
    parts = [(np.flatnonzero(train_task == t), np.flatnonzero(test_task == t)) for t in present]
    absent = np.flatnonzero(~np.isin(test_task, present))
    return [*parts, (np.arange(len(train_task)), absent)] if len(absent) else parts


def _losses(
    design: Design, train: Problem, features: dict[str, Array], seed: int, grid: Sequence[float] = GRID
) -> dict[tuple[str, float], float]:
    """Mean held-out loss of every (scaling, C): NLL over rows whose class remains in training, or squared error."""
    folds = kfold(train, N_FOLDS, seed)
    total = {(name, C): 0.0 for name in features for C in grid}
    n_counted = 0
    for fold in folds:
        part, held = train.subset(fold.train), train.subset(fold.test)
        counts = _countable(part, held)
        n_counted += int(counts.sum())
        for name, C in total:
            a = features[name]
            fit = _classify if train.is_classification else _regress
            prediction = fit(design, a[fold.train], part, a[fold.test], held.task, C)
            total[name, C] += float(_loss(held, prediction)[counts].sum())
    return {key: value / max(n_counted, 1) for key, value in total.items()}


def _countable(part: Problem, held: Problem) -> Array:
    """Held-out rows whose (task, class) has training rows; in regression whose task has."""
    label = (part.y, held.y) if part.is_classification else (0 * part.task, 0 * held.task)
    return np.isin(held.task * part.n_classes + label[1], part.task * part.n_classes + label[0])


def _loss(held: Problem, prediction: Array) -> Array:
    """(n,) -log of the probability of the true class, or the squared error."""
    if held.is_classification:
        return np.asarray(-np.log(np.maximum(prediction[np.arange(len(prediction)), held.y], 1e-300)))
    return np.asarray(np.square(held.y - prediction))
