"""RBF support vector machines of scikit-learn: pooled, and with a kernel that knows the task.

k((x, t), (x', t')) = (a + (1 - a) [t = t']) exp(-gamma |x - x'|^2 / D), a = 1 is pooled; with a task kernel also
+ (1 - a) [t = t']. C, gamma and a are chosen by the loss on left-out rows. Probabilities are a logistic function of
decision values (of their multiple, with more than two classes), fitted to left-out rows.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from benchmarks.peers.peer import Peer, Prediction, Shape, folds, loss
from benchmarks.peers.sets import DIGITS, Rows

N_FOLDS = 5


class PooledSVM(Peer):
    key = "svm"
    title = "RBF SVM, pooled"
    short = "SVM"
    sharings: tuple[float, ...] = (1.0,)

    def fit_predict(self, train: Rows, test: Rows, shape: Shape, seed: int) -> Prediction:
        a, b = self.scaled(train.X, test.X)
        centre, spread = (0.0, 1.0) if shape.is_classification else (train.y.mean(), train.y.std() or 1.0)
        y = train.y if shape.is_classification else (train.y - centre) / spread
        near, far = euclidean_distances(a, squared=True), euclidean_distances(b, a, squared=True)
        parts = folds(train, shape, N_FOLDS, seed)
        best: tuple[float, Any] = (np.inf, None)
        for share, gamma in product(self.sharings, (0.3, 1.0, 3.0)):
            gram = kernel(near, train.task, train.task, share, gamma / a.shape[1])
            for C in (0.1, 1.0, 10.0, 100.0):
                left_out = _left_out(gram, y, parts, C, shape)
                calibrator = Calibrator(shape).fit(left_out, y)
                lost = float(loss(calibrator(left_out), y, shape).mean())
                best = min(best, (lost, (share, gamma, C, calibrator)), key=lambda pair: pair[0])
        lost, (share, gamma, C, calibrator) = best
        gram, cross = (
            kernel(d, task, train.task, share, gamma / a.shape[1]) for d, task in ((near, train.task), (far, test.task))
        )
        found = calibrator(_decide(gram, y, cross, C, shape))
        chosen = {"sharing": share, "gamma": gamma, "C": C}
        if shape.is_classification:
            return Prediction(p=found, chosen=chosen)
        return Prediction(mean=centre + spread * found, std=np.full(len(test), spread * lost**0.5), chosen=chosen)

    def scaled(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Each column by its own standard deviation in training."""
        scaler = StandardScaler().fit(a)
        return scaler.transform(a), scaler.transform(b)


class PixelSVM(PooledSVM):
    """All columns by one standard deviation, as for pixels; in tables with many units that makes no sense."""

    key = "svm_pixels"
    title = "RBF SVM, pooled, one scale for all columns"
    short = "pixel SVM"
    halves = (DIGITS,)

    def scaled(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return a / a.std(), b / a.std()


class TaskSVM(PooledSVM):
    key = "svm_task"
    title = "RBF SVM with a task kernel"
    short = "task SVM"
    sharings = (0.3, 0.6, 0.9)


def kernel(squared: np.ndarray, task_a: np.ndarray, task_b: np.ndarray, share: float, gamma: float) -> np.ndarray:
    same = task_a[:, None] == task_b
    return np.exp(-gamma * squared) * (share + (1 - share) * same) + (1 - share) * same


class Calibrator:
    """Decision values (n, C), or (n,) for two classes, to probabilities; values of regression stay as they are."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape

    def fit(self, decision: np.ndarray, y: np.ndarray) -> Calibrator:
        if not self.shape.is_classification:
            return self
        if self.shape.n_classes == 2:
            self._logistic = LogisticRegression(C=1.0).fit(decision[:, None], y)
            return self
        found = minimize_scalar(
            lambda scale: -log_softmax(np.exp(scale) * decision, axis=1)[np.arange(len(y)), y].mean(),
            bounds=(-3, 3),
            method="bounded",
        )
        self._scale = float(np.exp(found.x))
        return self

    def __call__(self, decision: np.ndarray) -> np.ndarray:
        if not self.shape.is_classification:
            return decision
        if self.shape.n_classes == 2:
            return self._logistic.predict_proba(decision[:, None])
        return softmax(self._scale * decision, axis=1)


def _left_out(gram: np.ndarray, y: np.ndarray, parts: list[Any], C: float, shape: Shape) -> np.ndarray:
    found = np.zeros((len(y), shape.n_classes) if shape.is_classification and shape.n_classes > 2 else len(y))
    for kept, held in parts:
        found[held] = _decide(gram[np.ix_(kept, kept)], y[kept], gram[np.ix_(held, kept)], C, shape)
    return found


def _decide(gram: np.ndarray, y: np.ndarray, cross: np.ndarray, C: float, shape: Shape) -> np.ndarray:
    """Decision values of the rows of ``cross``; a class that training rows lack is below all others."""
    if not shape.is_classification:
        return SVR(kernel="precomputed", C=C).fit(gram, y).predict(cross)
    machine = SVC(kernel="precomputed", C=C, decision_function_shape="ovr").fit(gram, y)
    value = machine.decision_function(cross)
    if shape.n_classes == 2:
        return value
    full = np.full((len(cross), shape.n_classes), -1.0)
    full[:, machine.classes_] = np.column_stack([-value, value]) if value.ndim == 1 else value
    return full
