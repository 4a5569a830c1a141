"""xRFM (Beaglehole et al. 2025), the task as a category.

Defaults but for the ridge, which is chosen by cross-validation: the default nearly interpolates. A fifth of the rows
says which iteration is the best. Its probabilities are clipped values of a kernel regression: like decision
values of a support vector machine they are calibrated on left-out rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.peers.peer import Peer, Prediction, Shape, folds, loss
from benchmarks.peers.sets import Rows
from benchmarks.peers.tools.svm import Calibrator

N_FOLDS = 3
RIDGES = (1e-3, 1e-1, 1.0, 10.0)
#: xRFM clips probabilities here; beyond it log-odds say nothing.
CLIP = 1e-3


class XRFM(Peer):
    key = "xrfm"
    title = "xRFM"
    packages = ("xrfm",)
    revision = 2

    def fit_predict(self, train: Rows, test: Rows, shape: Shape, seed: int) -> Prediction:
        parts = folds(train, shape, N_FOLDS, seed)
        best: tuple[float, Any] = (np.inf, None)
        for ridge in RIDGES:
            left_out = np.zeros((len(train), shape.n_classes) if shape.n_classes > 2 else len(train))
            for kept, held in parts:
                left_out[held] = _decide(train.subset(kept), train.subset(held), shape, ridge, seed)
            calibrator = Calibrator(shape).fit(left_out, train.y)
            lost = float(loss(calibrator(left_out), train.y, shape).mean())
            best = min(best, (lost, (ridge, calibrator)), key=lambda pair: pair[0])
        lost, (ridge, calibrator) = best
        found = calibrator(_decide(train, test, shape, ridge, seed))
        if shape.is_classification:
            return Prediction(p=found, chosen={"ridge": ridge})
        return Prediction(mean=found, std=np.full(len(test), lost**0.5), chosen={"ridge": ridge})


def _decide(rows: Rows, asked: Rows, shape: Shape, ridge: float, seed: int) -> np.ndarray:
    """(n, C) logarithms of probabilities, (n,) log-odds of two classes, or (n,) means."""
    import torch
    from xrfm import xRFM

    scaler = StandardScaler().fit(rows.X)
    centre, spread = (0, 1) if shape.is_classification else (rows.y.mean(), rows.y.std() or 1.0)
    y = torch.as_tensor((rows.y - centre) / spread if spread != 1 else rows.y)
    y = y.long() if shape.is_classification else y.float()
    metric = "logloss" if shape.is_classification else "mse"
    model = xRFM(
        _parameters(ridge),
        device="cpu",
        n_threads=1,
        random_state=seed,
        categorical_info=_task_columns(rows, shape),
        tuning_metric=metric,
        verbose=False,
    )
    X, (kept, held) = _features(scaler, rows, shape), folds(rows, shape, 5, seed)[0]
    model.fit(X[kept], y[kept], X[held], y[held])
    X = _features(scaler, asked, shape)
    if not shape.is_classification:
        return centre + spread * np.asarray(model.predict(X)).ravel()
    p = np.log(np.clip(np.asarray(model.predict_proba(X)), CLIP, 1 - CLIP))
    return p[:, 1] - p[:, 0] if shape.n_classes == 2 else p


def _parameters(ridge: float) -> dict[str, Any]:
    """Those that xRFM has when it is given none, but for the ridge."""
    kernel = {"kernel": "l2_high_dim", "exponent": 1.0, "bandwidth": 10.0, "diag": False, "bandwidth_mode": "constant"}
    fit = {"get_agop_best_model": True, "return_best_params": True, "reg": ridge, "iters": 5, "early_stop_rfm": False}
    return {"model": kernel, "fit": fit}


def _task_columns(rows: Rows, shape: Shape) -> dict[str, Any]:
    import torch

    n = rows.X.shape[1]
    return {
        "numerical_indices": torch.arange(n),
        "categorical_indices": [torch.arange(n, n + shape.n_tasks)],
        "categorical_vectors": [torch.eye(shape.n_tasks)],
    }


def _features(scaler: StandardScaler, rows: Rows, shape: Shape) -> Any:
    import torch

    return torch.as_tensor(np.hstack([scaler.transform(rows.X), np.eye(shape.n_tasks)[rows.task]]), dtype=torch.float32)
