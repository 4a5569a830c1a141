"""GPBoost (Sigrist 2022): boosted trees of the columns and a random intercept per task, fitted together."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from benchmarks.peers.peer import Shape, Tuned
from benchmarks.peers.sets import Rows


class GPBoost(Tuned):
    """It has no likelihood of several classes. Its steps are in units of the noise: numbers are scaled, rates tried."""

    key = "gpboost"
    title = "GPBoost"
    packages = ("gpboost",)
    kinds = ("binary", "regression")
    settings = tuple(
        {"num_leaves": leaves, "learning_rate": rate, "rounds": rounds}
        for leaves, rate, rounds in product((4, 15), (0.01, 0.1), (30, 100, 300))
    )
    n_folds = 3
    revision = 2

    def train(self, rows: Rows, shape: Shape, setting: dict[str, Any], seed: int) -> Any:
        import gpboost

        likelihood = "bernoulli_logit" if shape.is_classification else "gaussian"
        effects = gpboost.GPModel(group_data=rows.task, likelihood=likelihood, num_parallel_threads=1)
        parameters = {
            "num_leaves": setting["num_leaves"],
            "learning_rate": setting["learning_rate"],
            "min_data_in_leaf": 5,
            "num_threads": 1,
            "seed": seed,
            "verbose": -1,
        }
        centre, spread = (0.0, 1.0) if shape.is_classification else (rows.y.mean(), rows.y.std() or 1.0)
        data = gpboost.Dataset(rows.X, (rows.y - centre) / spread, params={"verbose": -1})
        return gpboost.train(parameters, data, gp_model=effects, num_boost_round=setting["rounds"]), centre, spread

    def predict(self, model: Any, rows: Rows, shape: Shape, stage: Any) -> np.ndarray:
        booster, centre, spread = model
        found = booster.predict(rows.X, group_data_pred=rows.task, predict_var=False, pred_latent=False)
        mean = centre + spread * np.asarray(found["response_mean"])
        return np.column_stack([1 - mean, mean]) if shape.is_classification else mean
