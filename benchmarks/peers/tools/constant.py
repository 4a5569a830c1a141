"""The floor: class frequencies, or the mean and the standard deviation, of the training rows."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.peer import Peer, Prediction, Shape, frequencies
from benchmarks.peers.sets import Rows


class Constant(Peer):
    key = "constant"
    title = "base rate or mean"
    short = "base rate"

    def fit_predict(self, train: Rows, test: Rows, shape: Shape, seed: int) -> Prediction:
        if shape.is_classification:
            return Prediction(p=np.tile(frequencies(train.y, shape), (len(test), 1)))
        return Prediction(mean=np.full(len(test), train.y.mean()), std=np.full(len(test), train.y.std(ddof=1)))
