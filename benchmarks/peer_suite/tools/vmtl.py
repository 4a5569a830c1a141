"""The default of this package, untuned, through its public estimators."""

from __future__ import annotations

from peer_suite.peer import Peer, Prediction, Shape
from peer_suite.sets import Rows


class VMTL(Peer):
    key = "vmtl"
    title = "VMTL default"

    def fit_predict(self, train: Rows, test: Rows, shape: Shape, seed: int) -> Prediction:
        from vmtl import MultiTaskClassifier, MultiTaskRegressor

        if shape.is_classification:
            classifier = MultiTaskClassifier(random_state=seed).fit(train.X, train.y, tasks=train.task)
            return Prediction(p=classifier.predict_proba(test.X, tasks=test.task))
        regressor = MultiTaskRegressor(random_state=seed).fit(train.X, train.y, tasks=train.task)
        mean, std = regressor.predict(test.X, tasks=test.task, return_std=True)
        return Prediction(mean=mean, std=std)
