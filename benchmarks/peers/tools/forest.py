"""Random forest of scikit-learn. The task is a column: dummies, or its target mean (cross-fitted)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.preprocessing import OneHotEncoder, TargetEncoder

from benchmarks.peers.peer import Peer, Prediction, Shape, frequencies, loss
from benchmarks.peers.sets import Rows


class Forest(Peer):
    """Encoding of the task and size of leaves are chosen on out-of-bag rows."""

    key = "forest"
    title = "random forest"
    short = "forest"
    n_trees: ClassVar[int] = 300
    settings: ClassVar[tuple[dict[str, Any], ...]] = tuple(
        {"task": task, "min_samples_leaf": leaf} for task in ("dummies", "target mean") for leaf in (1, 2, 5, 10)
    )

    def fit_predict(self, train: Rows, test: Rows, shape: Shape, seed: int) -> Prediction:
        fitted = [self._fit(train, shape, setting, seed) for setting in self.settings]
        losses = [loss(self._out_of_bag(model, train, shape), train.y, shape).mean() for _, model in fitted]
        best = int(np.argmin(losses))
        encoder, model = fitted[best]
        X = encoder.transform(_columns(test))
        if shape.is_classification:
            return Prediction(p=_smooth(model.predict_proba(X), self.n_trees, train, shape), chosen=self.settings[best])
        std = np.full(len(test), np.sqrt(losses[best]))
        return Prediction(mean=model.predict(X), std=std, chosen=self.settings[best])

    def _fit(self, train: Rows, shape: Shape, setting: dict[str, Any], seed: int) -> tuple[Any, Any]:
        encoder = _encoder(train, setting["task"], shape, seed)
        kind = RandomForestClassifier if shape.is_classification else RandomForestRegressor
        features = "sqrt" if shape.is_classification else 1 / 3
        leaf = setting["min_samples_leaf"]
        model = kind(
            self.n_trees, min_samples_leaf=leaf, max_features=features, oob_score=True, n_jobs=1, random_state=seed
        )
        return encoder, model.fit(encoder.fit_transform(_columns(train), train.y), train.y)

    def _out_of_bag(self, model: Any, train: Rows, shape: Shape) -> np.ndarray:
        if shape.is_classification:
            return _smooth(np.nan_to_num(model.oob_decision_function_), self.n_trees / np.e, train, shape)
        return model.oob_prediction_


def _encoder(train: Rows, task: str, shape: Shape, seed: int) -> ColumnTransformer:
    if task == "dummies":
        how: Any = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    else:
        kind = "continuous" if not shape.is_classification else "binary" if shape.n_classes == 2 else "multiclass"
        how = TargetEncoder(target_type=kind, cv=3, random_state=seed)
    return ColumnTransformer([("task", how, [train.X.shape[1]])], remainder="passthrough")


def _columns(rows: Rows) -> np.ndarray:
    return np.column_stack([rows.X, rows.task])


def _smooth(p: np.ndarray, n_votes: float, train: Rows, shape: Shape) -> np.ndarray:
    """One further tree that votes for the class frequencies, so that no probability is 0."""
    return (n_votes * p + frequencies(train.y, shape)) / (n_votes + 1)
