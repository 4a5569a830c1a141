"""CatBoost, the task and other text as categories; its defaults, with depth and number of trees chosen.

With more than two classes trees are slow: half as many, at twice the rate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers.frames import text_columns, with_task
from benchmarks.peers.peer import Shape, Tuned, all_classes
from benchmarks.peers.sets import Rows


class CatBoost(Tuned):
    key = "catboost"
    title = "CatBoost"
    packages = ("catboost",)
    settings = ({"depth": 3}, {"depth": 6})
    stages = (25, 50, 75, 100, 150, 200)  # in units of trees, or of two trees
    n_folds = 3

    def train(self, rows: Rows, shape: Shape, setting: dict[str, Any], seed: int) -> Any:
        from catboost import CatBoostClassifier, CatBoostRegressor

        frame = with_task(rows)
        kind = CatBoostClassifier if shape.is_classification else CatBoostRegressor
        model = kind(
            **setting,
            iterations=_trees(self.stages[-1], shape),
            learning_rate=0.1 if shape.n_classes > 2 else 0.05,
            cat_features=text_columns(frame),
            allow_writing_files=False,
            thread_count=1,
            random_seed=seed,
            verbose=False,
        )
        return model.fit(frame, rows.y)

    def predict(self, model: Any, rows: Rows, shape: Shape, stage: Any) -> np.ndarray:
        frame = with_task(rows)
        if shape.is_classification:
            return all_classes(model.predict_proba(frame, ntree_end=_trees(stage, shape)), model.classes_, shape)
        return model.predict(frame, ntree_end=_trees(stage, shape))


def _trees(stage: int, shape: Shape) -> int:
    return stage if shape.n_classes > 2 else 2 * stage
