"""Predictions of a fitted model, also for rows of tasks that it does not know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from vmtl._utils.types import Array
from vmtl.estimators.inputs.unknown_tasks import RowTasks
from vmtl.results.predictions import ClassPrediction, Probabilities, RealPrediction

Prediction = TypeVar("Prediction")


@dataclass(frozen=True)
class Features:
    """What a model makes of rows (n, K), before it predicts them."""

    features: Array


class TaskPredictor:
    """Predicts each row under its task, and rows of an unknown task as an average over known ones.

    Parameters
    ----------
    fitted : FittedGP or FittedVMTL
        The fitted model.
    """

    def __init__(self, fitted: Any) -> None:
        self.fitted = fitted

    def probabilities(self, x: Array, tasks: RowTasks) -> Array:
        """(n, C) class probabilities."""
        prediction: Probabilities = self._predict(x, tasks, self.fitted.probabilities, _average_probabilities)
        return prediction.probabilities

    def classes(self, x: Array, tasks: RowTasks) -> ClassPrediction:
        """Class probabilities and their entropies."""
        prediction: ClassPrediction = self._predict(x, tasks, self.fitted.classes, _average_classes)
        return prediction

    def values(self, x: Array, tasks: RowTasks) -> RealPrediction:
        """Means and deviations, in units of the standardised target."""
        prediction: RealPrediction = self._predict(x, tasks, self.fitted.values, _average_values)
        return prediction

    def features(self, x: Array, tasks: RowTasks) -> Array:
        """(n, K) features."""

        def features(rows: Array, codes: Array) -> Features:
            return Features(self.fitted.features(rows, codes))

        return self._predict(x, tasks, features, _average_features).features

    def _predict(
        self,
        x: Array,
        tasks: RowTasks,
        predict: Callable[[Array, Array], Prediction],
        average: Callable[[list[Prediction], Array], Prediction],
    ) -> Prediction:
        prediction = predict(x, np.maximum(tasks.codes, 0))
        for rows, weights in tasks.unknown():
            used = np.flatnonzero(weights)
            parts = [predict(x[rows], np.full(len(rows), task)) for task in used]
            for name, values in vars(average(parts, weights[used])).items():
                getattr(prediction, name)[rows] = values
        _check_finite(prediction, x)
        return prediction


def _check_finite(prediction: object, x: Array) -> None:
    """A prediction that overflowed is an error, never an answer."""
    for values in vars(prediction).values():
        finite = np.isfinite(values).reshape(len(values), -1).all(axis=1)
        if not finite.all():
            largest = float(np.abs(x[int(finite.argmin())]).max())
            raise ValueError(
                f"The prediction overflows for a row with values up to {largest:.3g}, far from all training rows; "
                "check its units."
            )


def _average_probabilities(parts: list[Probabilities], weights: Array) -> Probabilities:
    return Probabilities(np.average([part.probabilities for part in parts], axis=0, weights=weights))


def _average_classes(parts: list[ClassPrediction], weights: Array) -> ClassPrediction:
    """One prediction from the same rows under several tasks."""
    p = np.average([part.probabilities for part in parts], axis=0, weights=weights)
    total = -np.sum(p * np.log(np.maximum(p, 1e-300)), axis=1)
    aleatoric = np.average([part.aleatoric for part in parts], axis=0, weights=weights)
    return ClassPrediction(p, total, np.minimum(aleatoric, total))


def _average_values(parts: list[RealPrediction], weights: Array) -> RealPrediction:
    """The mean over tasks; what the tasks disagree on is model uncertainty."""
    means = np.array([part.mean for part in parts])
    mean = np.average(means, axis=0, weights=weights)
    squares = [part.epistemic**2 for part in parts] + (means - mean) ** 2
    aleatoric = np.average([part.aleatoric**2 for part in parts], axis=0, weights=weights)
    return RealPrediction(mean, np.sqrt(aleatoric), np.sqrt(np.average(squares, axis=0, weights=weights)))


def _average_features(parts: list[Features], weights: Array) -> Features:
    return Features(np.average([part.features for part in parts], axis=0, weights=weights))
