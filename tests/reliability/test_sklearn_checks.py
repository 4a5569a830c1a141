"""scikit-learn's own checks, for both estimators and every method, alone and split into two tasks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import _num_samples

from vmtl import METHODS, MultiTaskClassifier, MultiTaskRegressor

STEPS = 12
#: One method of each kind of prior; the other methods split into two tasks are checked in the long form.
FIRST = ("vmtl", "stl", "long")
OTHERS = tuple(method for method in METHODS if method not in FIRST)
WEIGHTS = "fitting with sample_weight and with repeated rows agree in law but not in bits, since "
NOT_BITS = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS
    + "float32 sums run in another order and the first random weights of the kernel encoder depend on the number of "
    "rows; exact equality is checked in float64 with an encoder of fixed size, and without draws per row",
}
NOT_BITS["check_sample_weight_equivalence_on_sparse_data"] = NOT_BITS["check_sample_weight_equivalence_on_dense_data"]


class _TwoTasks:
    """Splits the rows into two tasks by itself, by the sign of the first column's deviation from its median."""

    def _features(self, X: Any, tasks: Any, y: Any = None, *, reset: bool) -> Any:
        if not reset:
            tasks = np.zeros(_num_samples(X))
        x, _ = super()._features(X, tasks, y, reset=reset)  # type: ignore[misc]
        if reset:
            self.middle_ = float(np.median(x[:, 0]))
        return x, np.where(x[:, 0] > self.middle_, "upper", "lower").astype(object)


class TwoTaskClassifier(_TwoTasks, MultiTaskClassifier):
    """As above; rows on a side that training did not have are predicted as the average."""


class TwoTaskRegressor(_TwoTasks, MultiTaskRegressor):
    """As above."""


def single(kind: type[Any]) -> list[Any]:
    return [kind(method=method, max_steps=STEPS, random_state=0) for method in METHODS]


def split(kind: type[Any], methods: Iterable[str]) -> list[Any]:
    return [kind(method=method, max_steps=STEPS, random_state=0, unknown_task="average") for method in methods]


def exact(kind: type[Any]) -> list[Any]:
    """Nothing random per row and no size that depends on the rows: sample weights are exact."""
    options: dict[str, Any] = {"encoder": "linear", "latent_dim": 4, "dtype": "float64", "max_steps": 60}
    return [kind(method=method, random_state=0, **options) for method in ("bmtl", "pooled")]


@parametrize_with_checks(
    [*single(MultiTaskClassifier), *single(MultiTaskRegressor)], expected_failed_checks=lambda estimator: NOT_BITS
)
def test_every_method(estimator: Any, check: Any) -> None:
    check(estimator)


@parametrize_with_checks(
    [*split(TwoTaskClassifier, FIRST), *split(TwoTaskRegressor, FIRST)],
    expected_failed_checks=lambda estimator: NOT_BITS,
)
def test_two_tasks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [*split(TwoTaskClassifier, OTHERS), *split(TwoTaskRegressor, OTHERS)],
    expected_failed_checks=lambda estimator: NOT_BITS,
)
def test_two_tasks_other_methods(estimator: Any, check: Any) -> None:
    check(estimator)


@parametrize_with_checks([*exact(MultiTaskClassifier), *exact(MultiTaskRegressor)])
def test_exact_weights(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("kind", [TwoTaskClassifier, TwoTaskRegressor])
def test_the_split_has_two_tasks(kind: type[Any]) -> None:
    """The subclass really exercises more than one task."""
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert len(kind(max_steps=2, random_state=0).fit(X, np.arange(20) % 2).tasks_) == 2
