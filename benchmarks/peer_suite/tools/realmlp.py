"""RealMLP (Holzmüller et al. 2024) of pytabkit with its tuned defaults, the task as a category."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from peer_suite.frames import text_columns, with_task
from peer_suite.peer import Shape, Tuned, all_classes
from peer_suite.sets import Rows


class RealMLP(Tuned):
    """Defaults: nothing is chosen. Regression fits folds as well, for the standard deviation."""

    key = "realmlp"
    title = "RealMLP"
    packages = ("pytabkit",)
    n_folds = 3

    def train(self, rows: Rows, shape: Shape, setting: dict[str, Any], seed: int) -> Any:
        from pytabkit import RealMLP_TD_Classifier, RealMLP_TD_Regressor

        for name in ("lightning", "lightning.pytorch", "pytorch_lightning"):
            logging.getLogger(name).setLevel(logging.ERROR)
        frame = _filled(with_task(rows), rows)
        kind = RealMLP_TD_Classifier if shape.is_classification else RealMLP_TD_Regressor
        model = kind(device="cpu", random_state=seed, n_threads=1, n_cv=1, n_refit=0)
        return rows, model.fit(frame, rows.y, cat_col_names=text_columns(frame))

    def predict(self, model: Any, rows: Rows, shape: Shape, stage: Any) -> np.ndarray:
        seen, network = model
        frame = _filled(with_task(rows), seen)
        if shape.is_classification:
            return all_classes(network.predict_proba(frame), network.classes_, shape)
        return np.asarray(network.predict(frame)).ravel()


def _filled(frame: Any, seen: Rows) -> Any:
    """Gaps in numbers as the mean of the training rows, which RealMLP asks for."""
    means = seen.frame.select_dtypes("number").mean().fillna(0.0)
    return frame.fillna(means)
