"""xRFM (Beaglehole et al. 2025) with its defaults: a fifth of the training rows tunes it, the task is a category."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from peer_suite.peer import Shape, Tuned, folds
from peer_suite.sets import Rows


class XRFM(Tuned):
    key = "xrfm"
    title = "xRFM"
    packages = ("xrfm",)
    n_folds = 3

    def train(self, rows: Rows, shape: Shape, setting: dict[str, Any], seed: int) -> Any:
        import torch
        from xrfm import xRFM

        scaler = StandardScaler().fit(rows.X)
        X = _features(scaler, rows, shape)
        kept, held = folds(rows, shape, 5, seed)[0]
        target = rows.y if shape.is_classification else (rows.y - rows.y.mean()) / (rows.y.std() or 1.0)
        y = torch.as_tensor(target, dtype=torch.long if shape.is_classification else torch.float32)
        n = rows.X.shape[1]
        task = {
            "numerical_indices": torch.arange(n),
            "categorical_indices": [torch.arange(n, n + shape.n_tasks)],
            "categorical_vectors": [torch.eye(shape.n_tasks)],
        }
        model = xRFM(device="cpu", n_threads=1, random_state=seed, categorical_info=task, verbose=False)
        if shape.is_classification:
            model.tuning_metric = "logloss"
        model.fit(X[kept], y[kept], X[held], y[held])
        return scaler, model, (rows.y.mean(), rows.y.std() or 1.0)

    def predict(self, model: Any, rows: Rows, shape: Shape, stage: Any) -> np.ndarray:
        scaler, machine, (centre, spread) = model
        X = _features(scaler, rows, shape)
        if shape.is_classification:
            return np.asarray(machine.predict_proba(X))
        return centre + spread * np.asarray(machine.predict(X)).ravel()


def _features(scaler: StandardScaler, rows: Rows, shape: Shape) -> Any:
    import torch

    return torch.as_tensor(np.hstack([scaler.transform(rows.X), np.eye(shape.n_tasks)[rows.task]]), dtype=torch.float32)
