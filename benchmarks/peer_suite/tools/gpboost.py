"""GPBoost (Sigrist 2022): boosted trees of the columns and a random intercept per task, fitted together."""

from __future__ import annotations

from typing import Any

import numpy as np

from peer_suite.peer import Shape, Tuned
from peer_suite.sets import Rows


class GPBoost(Tuned):
    """It has no likelihood of several classes."""

    key = "gpboost"
    title = "GPBoost"
    packages = ("gpboost",)
    kinds = ("binary", "regression")
    settings = tuple({"num_leaves": leaves, "rounds": rounds} for leaves in (4, 15) for rounds in (25, 75, 200))
    n_folds = 3

    def train(self, rows: Rows, shape: Shape, setting: dict[str, Any], seed: int) -> Any:
        import gpboost

        likelihood = "bernoulli_logit" if shape.is_classification else "gaussian"
        effects = gpboost.GPModel(group_data=rows.task, likelihood=likelihood, num_parallel_threads=1)
        parameters = {
            "num_leaves": setting["num_leaves"],
            "learning_rate": 0.05,
            "min_data_in_leaf": 5,
            "lambda_l2": 1.0,
            "num_threads": 1,
            "seed": seed,
            "verbose": -1,
        }
        data = gpboost.Dataset(rows.X, rows.y.astype(float), params={"verbose": -1})
        return gpboost.train(parameters, data, gp_model=effects, num_boost_round=setting["rounds"])

    def predict(self, model: Any, rows: Rows, shape: Shape, stage: Any) -> np.ndarray:
        found = model.predict(rows.X, group_data_pred=rows.task, predict_var=False, pred_latent=False)
        mean = np.asarray(found["response_mean"])
        return np.column_stack([1 - mean, mean]) if shape.is_classification else mean
