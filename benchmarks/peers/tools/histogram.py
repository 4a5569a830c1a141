"""HistGradientBoosting of scikit-learn, the task and other text as categories."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from benchmarks.peers.frames import Categories, with_task
from benchmarks.peers.peer import Shape, Tuned, all_classes
from benchmarks.peers.sets import Rows

STEP = 25


class Histogram(Tuned):
    key = "histogram"
    title = "HistGradientBoosting"
    short = "HistGB"
    settings = tuple({"max_leaf_nodes": leaves, "min_samples_leaf": least} for leaves in (4, 15) for least in (5, 20))
    stages = tuple(range(STEP, 8 * STEP + 1, STEP))
    n_folds = 3

    def train(self, rows: Rows, shape: Shape, setting: dict[str, Any], seed: int) -> Any:
        typed = Categories(with_task(rows))
        kind = HistGradientBoostingClassifier if shape.is_classification else HistGradientBoostingRegressor
        model = kind(
            **setting,
            learning_rate=0.05,
            max_iter=self.stages[-1],
            l2_regularization=1.0,
            early_stopping=False,
            categorical_features="from_dtype",
            random_state=seed,
        )
        return typed, model.fit(typed(with_task(rows)), rows.y)

    def predict(self, model: Any, rows: Rows, shape: Shape, stage: Any) -> np.ndarray:
        return self.predict_stages(model, rows, shape)[stage]

    def predict_stages(self, model: Any, rows: Rows, shape: Shape) -> dict[Any, np.ndarray]:
        typed, trees = model
        X = typed(with_task(rows))
        staged = trees.staged_predict_proba(X) if shape.is_classification else trees.staged_predict(X)
        found = {n: values for n, values in enumerate(staged, start=1) if n in self.stages}
        return (
            {n: all_classes(p, trees.classes_, shape) for n, p in found.items()} if shape.is_classification else found
        )
