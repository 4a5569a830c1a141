"""LightGBM, the task and other text as categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers.frames import Categories, with_task
from benchmarks.peers.peer import Shape, Tuned, all_classes
from benchmarks.peers.sets import Rows


class LightGBM(Tuned):
    key = "lightgbm"
    title = "LightGBM"
    packages = ("lightgbm",)
    settings = tuple({"num_leaves": leaves, "min_child_samples": least} for leaves in (4, 15) for least in (5, 20))
    stages = tuple(range(25, 301, 25))
    n_folds = 3

    def train(self, rows: Rows, shape: Shape, setting: dict[str, Any], seed: int) -> Any:
        from lightgbm import LGBMClassifier, LGBMRegressor

        typed = Categories(with_task(rows))
        kind = LGBMClassifier if shape.is_classification else LGBMRegressor
        model = kind(
            **setting,
            n_estimators=self.stages[-1],
            learning_rate=0.05,
            reg_lambda=1.0,
            min_data_per_group=5,
            subsample=0.8,
            subsample_freq=1,
            colsample_bytree=0.8,
            n_jobs=1,
            random_state=seed,
            verbose=-1,
        )
        return typed, model.fit(_plain(typed(with_task(rows))), rows.y)

    def predict(self, model: Any, rows: Rows, shape: Shape, stage: Any) -> np.ndarray:
        typed, trees = model
        X = _plain(typed(with_task(rows)))
        if shape.is_classification:
            return all_classes(trees.predict_proba(X, num_iteration=stage), trees.classes_, shape)
        return trees.predict(X, num_iteration=stage)


def _plain(frame: Any) -> Any:
    """Column names without the signs that LightGBM refuses."""
    return frame.set_axis([f"c{place}" for place in range(frame.shape[1])], axis=1)
