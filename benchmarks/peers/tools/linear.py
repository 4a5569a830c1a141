"""Linear rows: logistic or ridge regression per task, pooled, with task dummies, and with a copy per task.

Columns are standardised on the training rows; the strength of the penalty is chosen by cross-validation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

from benchmarks.peers.peer import Shape, Tuned, all_classes, frequencies
from benchmarks.peers.sets import Rows


class Pooled(Tuned):
    """One model of all rows that does not see the task."""

    key = "pooled"
    title = "linear, pooled"
    short = "pooled"
    settings = tuple({"C": 10.0**k} for k in range(-4, 4))

    def train(self, rows: Rows, shape: Shape, setting: dict[str, Any], seed: int) -> Any:
        scaler = StandardScaler().fit(rows.X)
        features = self.features(scaler.transform(rows.X), rows.task, shape)
        return scaler, fit_linear(features, rows.y, shape, setting["C"])

    def predict(self, model: Any, rows: Rows, shape: Shape, stage: Any) -> np.ndarray:
        scaler, linear = model
        return predict_linear(linear, self.features(scaler.transform(rows.X), rows.task, shape), shape)

    def features(self, X: np.ndarray, task: np.ndarray, shape: Shape) -> np.ndarray:
        return X


class Dummies(Pooled):
    """Pooled, with an intercept per task: one-hot tasks beside the columns, under the same penalty."""

    key = "dummies"
    title = "linear, pooled with task dummies"
    short = "dummies"

    def features(self, X: np.ndarray, task: np.ndarray, shape: Shape) -> np.ndarray:
        return np.hstack([X, np.eye(shape.n_tasks)[task]])


class Augmented(Tuned):
    """Shared and per-task copies of the columns and a constant ("frustratingly easy", Daumé 2007).

    Inner products of such rows are x.x' (1 + [same task]) + [same task]; the model is fitted in an orthonormal basis of
    the training rows' span, which changes no prediction and needs no T copies.
    """

    key = "augmented"
    title = "linear, shared and per-task copies"
    short = "copies"
    settings = Pooled.settings

    def train(self, rows: Rows, shape: Shape, setting: dict[str, Any], seed: int) -> Any:
        scaler, basis, coordinates = self._basis(rows)
        return scaler, basis, rows, fit_linear(coordinates, rows.y, shape, setting["C"])

    def predict(self, model: Any, rows: Rows, shape: Shape, stage: Any) -> np.ndarray:
        scaler, basis, seen, linear = model
        gram = _inner(scaler.transform(rows.X), rows.task, scaler.transform(seen.X), seen.task)
        return predict_linear(linear, gram @ basis, shape)

    def _basis(self, rows: Rows) -> tuple[StandardScaler, np.ndarray, np.ndarray]:
        """The scaler, (n, r) from inner products to coordinates, (n, r) coordinates; kept for the other settings."""
        if getattr(self, "_of", None) is not rows:
            scaler = StandardScaler().fit(rows.X)
            X = scaler.transform(rows.X)
            value, vector = np.linalg.eigh(_inner(X, rows.task, X, rows.task))
            kept = value > 1e-9 * value[-1]
            root = np.sqrt(value[kept])
            self._of, self._kept = rows, (scaler, vector[:, kept] / root, vector[:, kept] * root)
        return self._kept


class PerTask(Tuned):
    """One model per task; C is shared. Probabilities are those of n_t rows and one row of all tasks' frequencies."""

    key = "per_task"
    title = "linear, one per task"
    short = "per task"
    settings = Pooled.settings

    def train(self, rows: Rows, shape: Shape, setting: dict[str, Any], seed: int) -> Any:
        scaler = StandardScaler().fit(rows.X)
        X = scaler.transform(rows.X)
        parts = {int(t): np.flatnonzero(rows.task == t) for t in np.unique(rows.task)}
        models = {t: (fit_linear(X[own], rows.y[own], shape, setting["C"]), len(own)) for t, own in parts.items()}
        pooled = frequencies(rows.y, shape) if shape.is_classification else rows.y.mean()
        return scaler, models, pooled

    def predict(self, model: Any, rows: Rows, shape: Shape, stage: Any) -> np.ndarray:
        scaler, models, pooled = model
        X = scaler.transform(rows.X)
        found = np.tile(pooled, (len(rows), 1)) if shape.is_classification else np.full(len(rows), pooled)
        for t, (linear, n) in models.items():
            own = np.flatnonzero(rows.task == t)
            if len(own):
                told = predict_linear(linear, X[own], shape)
                found[own] = (n * told + pooled) / (n + 1) if shape.is_classification else told
        return found


def fit_linear(X: np.ndarray, y: np.ndarray, shape: Shape, C: float) -> Any:
    """A logistic or ridge regression; the class itself where there is only one."""
    if not shape.is_classification:
        return Ridge(alpha=1 / C).fit(X, y)
    if len(np.unique(y)) == 1:
        return int(y[0])
    return LogisticRegression(C=C, max_iter=1000).fit(X, y)


def predict_linear(model: Any, X: np.ndarray, shape: Shape) -> np.ndarray:
    if not shape.is_classification:
        return model.predict(X)
    if isinstance(model, int):
        return np.tile(np.eye(shape.n_classes)[model], (len(X), 1))
    return all_classes(model.predict_proba(X), model.classes_, shape)


def _inner(a: np.ndarray, task_a: np.ndarray, b: np.ndarray, task_b: np.ndarray) -> np.ndarray:
    gram, same = a @ b.T, task_a[:, None] == task_b
    return gram + (gram + 1) * same
