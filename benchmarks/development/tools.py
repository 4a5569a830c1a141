"""The tools of the suite: linear models on columns as they are and standardised, RBF machines, a forest and VMTL."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

from benchmarks.peers.peer import Peer, Prediction, Shape, all_classes, folds, loss
from benchmarks.peers.sets import Rows
from benchmarks.peers.tools.forest import Forest
from benchmarks.peers.tools.svm import PixelSVM, PooledSVM
from benchmarks.peers.tools.vmtl import VMTL

STRENGTHS = tuple(10.0**k for k in range(-4, 5))
N_FOLDS = 5


class Linear(Peer):
    """Logistic or ridge regression, C by five folds.

    ``copies`` of the columns and a constant per task, an intercept per task (``dummies``), or neither; all are an inner
    product of rows, and where there are more columns than rows the model is fitted in a basis of the rows' span.
    """

    scaled: ClassVar[bool]
    tasks: ClassVar[str]

    def fit_predict(self, train: Rows, test: Rows, shape: Shape, seed: int) -> Prediction:
        parts = [
            (held, *self._features(train.subset(kept), train.subset(held), shape), train.y[kept])
            for kept, held in folds(train, shape, N_FOLDS, seed)
        ]
        models: list[Any] = [None] * len(parts)
        losses: list[float] = []
        for C in STRENGTHS:
            lost = 0.0
            for place, (held, a, b, y) in enumerate(parts):
                models[place] = _fit(a, y, C, shape, models[place])
                lost += float(loss(_predict(models[place], b, shape), train.y[held], shape).sum()) / len(train)
            losses.append(lost)
        best = int(np.argmin(losses))
        a, b = self._features(train, test, shape)
        found = _predict(_fit(a, train.y, STRENGTHS[best], shape), b, shape)
        chosen = {"C": STRENGTHS[best]}
        if shape.is_classification:
            return Prediction(p=found, chosen=chosen)
        return Prediction(mean=found, std=np.full(len(test), losses[best] ** 0.5), chosen=chosen)

    def _features(self, train: Rows, test: Rows, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
        a, b = train.X, test.X
        if self.scaled:
            scaler = StandardScaler().fit(a)
            a, b = scaler.transform(a), scaler.transform(b)
        if self.tasks == "dummies":
            a, b = (np.hstack([X, np.eye(shape.n_tasks)[rows.task]]) for X, rows in ((a, train), (b, test)))
        if self.tasks != "copies" and a.shape[1] <= len(a):
            return a, b
        near, far = a @ a.T, b @ a.T
        if self.tasks == "copies":
            same, here = train.task[:, None] == train.task, test.task[:, None] == train.task
            near, far = near + (near + 1) * same, far + (far + 1) * here
        value, vector = np.linalg.eigh(near)
        kept = value > 1e-10 * value[-1]
        basis, root = vector[:, kept], np.sqrt(value[kept])
        return basis * root, far @ (basis / root)


def _fit(X: np.ndarray, y: np.ndarray, C: float, shape: Shape, before: Any = None) -> Any:
    """``before`` is the model of another C, to start from."""
    if not shape.is_classification:
        return Ridge(alpha=1 / C).fit(X, y)
    if len(np.unique(y)) == 1:
        return int(y[0])
    model = before or LogisticRegression(max_iter=300, warm_start=True)
    return model.set_params(C=C).fit(X, y)


def _predict(model: Any, X: np.ndarray, shape: Shape) -> np.ndarray:
    if not shape.is_classification:
        return model.predict(X)
    if isinstance(model, int):
        return np.tile(np.eye(shape.n_classes)[model], (len(X), 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return all_classes(model.predict_proba(X), model.classes_, shape)


def _linear(scale: str, shared: str) -> type[Linear]:
    about = {"scaled": scale == "standard", "tasks": shared, "key": f"{shared}-{scale}", "title": f"{shared}, {scale}"}
    return type(f"Linear{shared}{scale}", (Linear,), about)


class DevelopmentForest(Forest):
    """Five hundred trees; size of leaves and encoding of the task by rows out of bag."""

    n_trees = 500
    settings = tuple({"task": task, "min_samples_leaf": leaf} for task in ("dummies", "target mean") for leaf in (1, 5))


PEERS: dict[str, type[Peer]] = {
    **{
        one.key: one
        for one in (
            _linear(scale, shared) for scale in ("raw", "standard") for shared in ("pooled", "dummies", "copies")
        )
    },
    "rbf-standard": PooledSVM,
    "rbf-raw": PixelSVM,
    "forest": DevelopmentForest,
}
OURS = VMTL
