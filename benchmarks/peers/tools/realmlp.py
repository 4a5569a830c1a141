"""RealMLP (Holzmüller et al. 2024) of pytabkit with its tuned defaults, the task as a category.

As its authors advise for likelihood: no label smoothing, the epoch is the one with the best cross-entropy on left-out
rows, and networks that leave out different rows are averaged.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from benchmarks.peers.frames import text_columns, with_task
from benchmarks.peers.peer import Peer, Prediction, Shape, all_classes, folds, loss
from benchmarks.peers.sets import Rows

N_NETWORKS = 3


class RealMLP(Peer):
    """Nothing is chosen but the epoch. In regression, left-out rows say the standard deviation."""

    key = "realmlp"
    title = "RealMLP"
    packages = ("pytabkit",)
    revision = 2

    def fit_predict(self, train: Rows, test: Rows, shape: Shape, seed: int) -> Prediction:
        found, lost = [], np.zeros(len(train))
        for _, held in folds(train, shape, N_NETWORKS, seed):
            network = _fit(train, held, shape, seed)
            lost[held] = loss(_predict(network, train.subset(held), train, shape), train.y[held], shape)
            found.append(_predict(network, test, train, shape))
        mean = np.mean(found, axis=0)
        if shape.is_classification:
            return Prediction(p=mean)
        return Prediction(mean=mean, std=np.full(len(test), np.sqrt(lost.mean())))


def _fit(rows: Rows, held: np.ndarray, shape: Shape, seed: int) -> Any:
    from pytabkit import RealMLP_TD_Classifier, RealMLP_TD_Regressor

    for name in ("lightning", "lightning.pytorch", "pytorch_lightning"):
        logging.getLogger(name).setLevel(logging.ERROR)
    common = {"device": "cpu", "random_state": seed, "n_threads": 1, "n_cv": 1, "n_refit": 0}
    if shape.is_classification:
        network = RealMLP_TD_Classifier(**common, val_metric_name="cross_entropy", use_ls=False)
    else:
        network = RealMLP_TD_Regressor(**common)
    frame = _filled(rows, rows)
    return network.fit(frame, rows.y, val_idxs=held, cat_col_names=text_columns(frame))


def _predict(network: Any, rows: Rows, seen: Rows, shape: Shape) -> np.ndarray:
    """(n, C) probabilities or (n,) means."""
    frame = _filled(rows, seen)
    if shape.is_classification:
        return all_classes(network.predict_proba(frame), network.classes_, shape)
    return np.asarray(network.predict(frame)).ravel()


def _filled(rows: Rows, seen: Rows) -> Any:
    """Gaps in numbers as the mean of the training rows, which RealMLP asks for."""
    means = seen.frame.select_dtypes("number").mean().fillna(0.0)
    return with_task(rows).fillna(means)
