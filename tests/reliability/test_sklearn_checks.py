"""scikit-learn's own checks: the default as users get it, with one task and with two, and the paper's methods."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import _num_samples

from vmtl import MultiTaskClassifier, MultiTaskRegressor, VMTLClassifier, VMTLRegressor

#: A small network that is trained for a moment.
SMALL: dict[str, Any] = {
    "encoder": "linear",
    "latent_dim": 8,
    "max_steps": 150,
    "learning_rate": 0.05,
    "batch_rows": 0,
    "predictive": "mean",
    "dtype": "float64",
    "random_state": 0,
}
WEIGHT_CHECKS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
DRAWS = (
    "the paper's methods drop out inputs and draw noise row by row, and a repeated row gets draws of its own where a "
    "weighted one has a single draw: fits with sample_weight and with repeated rows agree in law, not in bits"
)
DROPOUT = (
    "the paper's dropout of 0.7 is for thousands of image features: of ten columns it leaves three in a step, and the "
    "fit explains less than half of the variance"
)


def expected_failures(estimator: Any) -> dict[str, str]:
    """None of the default; of the paper's system the weight checks, and how well a regression fits ten columns."""
    if not isinstance(estimator, VMTLClassifier | VMTLRegressor):
        return {}
    fails = dict.fromkeys(WEIGHT_CHECKS, DRAWS)
    return fails | {"check_regressors_train": DROPOUT} if isinstance(estimator, VMTLRegressor) else fails


class _TwoTasks:
    """Splits the rows into two tasks by itself, by the sign of the first column's deviation from its median."""

    def _read_training_rows(self, X: Any, y: Any, tasks: Any) -> Any:
        x, _ = super()._read_training_rows(X, y, tasks)  # type: ignore[misc]
        self.middle_ = float(np.median(x[:, 0]))
        return x, self._side(x)

    def _read_rows(self, X: Any, tasks: Any) -> Any:
        x, _ = super()._read_rows(X, np.zeros(_num_samples(X)))  # type: ignore[misc]
        return x, self._side(x)

    def _side(self, x: Any) -> Any:
        return np.where(x[:, 0] > self.middle_, "upper", "lower").astype(object)


class TwoTaskClassifier(_TwoTasks, MultiTaskClassifier):
    """As above; rows on a side that training did not have are predicted as the average."""


class TwoTaskRegressor(_TwoTasks, MultiTaskRegressor):
    """As above."""


checks = partial(parametrize_with_checks, expected_failed_checks=expected_failures, xfail_strict=True)


@checks([MultiTaskClassifier(random_state=0), MultiTaskRegressor(random_state=0)])
def test_the_default(estimator: Any, check: Any) -> None:
    check(clone(estimator))


@pytest.mark.slow
@checks(
    [
        TwoTaskClassifier(unknown_task="average", random_state=0),
        TwoTaskRegressor(unknown_task="average", random_state=0),
    ]
)
def test_the_default_with_two_tasks(estimator: Any, check: Any) -> None:
    check(clone(estimator))


@checks([VMTLClassifier(**SMALL), VMTLRegressor(**SMALL)])
def test_the_paper(estimator: Any, check: Any) -> None:
    check(clone(estimator))
