"""scikit-learn's own checks, for both estimators and every method, alone and split into two tasks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import _num_samples

from vmtl import METHODS, MultiTaskClassifier, MultiTaskRegressor

pytestmark = pytest.mark.usefixtures("quick_inference")

#: A small network of fixed size, fast enough for all methods.
SMALL: dict[str, Any] = {"encoder": "linear", "latent_dim": 4, "max_steps": 15, "random_state": 0}
DEFAULT: dict[str, Any] = {"max_steps": 12, "random_state": 0}
#: The default preset of methods with other heads or features of their own for every task. Of the kernel's features only
#: the first: the last ones have variances so alike that their directions are a matter of rounding, and what a network
#: makes of them is too.
OTHER_DEFAULTS, FIRST = ("vmtl_ac", "stl"), {"latent_dim": 4}
OTHERS = tuple(method for method in METHODS if method not in ("vmtl_ac", "bmtl"))
WEIGHT_CHECKS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
#: What a check asks beyond the interface: seven equal digits, which float32 does not have, and a good fit.
NEEDS: dict[str, dict[str, Any]] = {
    **{name: {"dtype": "float64"} for name in WEIGHT_CHECKS},
    "check_methods_sample_order_invariance": {"dtype": "float64"},
    "check_methods_subset_invariance": {"dtype": "float64"},
    "check_regressors_train": {"max_steps": 60},
}
DRAWS = (
    "a classifier with Gaussian posteriors draws noise per row, and a repeated row gets draws of its own where a "
    "weighted one has a single draw: fits with sample_weight and with repeated rows agree in law, not in bits"
)


def expected_failures(estimator: Any) -> dict[str, str]:
    """The weight checks where noise is drawn per row; the loss of a regression is an expectation, without draws."""
    method = METHODS[estimator.method]
    drawn = isinstance(estimator, MultiTaskClassifier) and "gaussian" in (method.q_z, method.q_w)
    return dict.fromkeys(WEIGHT_CHECKS, DRAWS) if drawn else {}


def run(check: Any, estimator: Any) -> None:
    check(clone(estimator).set_params(**NEEDS.get(check.func.__name__, {})))


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


def made(kinds: Iterable[type[Any]], methods: Iterable[str], **options: Any) -> list[Any]:
    return [kind(method=method, **options) for kind in kinds for method in methods]


PLAIN = (MultiTaskClassifier, MultiTaskRegressor)
SPLIT = (TwoTaskClassifier, TwoTaskRegressor)
checks = partial(parametrize_with_checks, expected_failed_checks=expected_failures, xfail_strict=True)


@checks(
    [
        *made((MultiTaskClassifier,), ("vmtl",), **DEFAULT),
        *made((TwoTaskRegressor,), ("vmtl",), unknown_task="average", **DEFAULT),
        *made((MultiTaskRegressor,), ("bmtl",), **SMALL),
    ]
)
def test_the_default_and_a_deterministic_method(estimator: Any, check: Any) -> None:
    run(check, estimator)


@pytest.mark.slow
@checks(
    [
        *made((MultiTaskRegressor,), ("vmtl",), **DEFAULT),
        *made((TwoTaskClassifier,), ("vmtl",), unknown_task="average", **DEFAULT),
        *made((MultiTaskClassifier,), ("bmtl",), **SMALL),
        *made(PLAIN, OTHERS, **SMALL),
        *made(PLAIN, OTHER_DEFAULTS, **DEFAULT, **FIRST),
        *made(SPLIT, (*OTHERS, "bmtl"), unknown_task="average", **SMALL),
        *made(SPLIT, OTHER_DEFAULTS, unknown_task="average", **DEFAULT, **FIRST),
    ]
)
def test_every_method(estimator: Any, check: Any) -> None:
    run(check, estimator)


@pytest.mark.slow
@checks(made(PLAIN, ("bmtl",), dtype="float64", **SMALL))
def test_float64(estimator: Any, check: Any) -> None:
    run(check, estimator)


@pytest.mark.parametrize(("kind", "method"), [(MultiTaskClassifier, "bmtl"), (MultiTaskRegressor, "vmtl")])
def test_weights_are_repeated_rows_to_rounding_in_float32(kind: type[Any], method: str) -> None:
    """What the weight checks ask in float64 holds in the default dtype to its own precision."""
    rng = np.random.default_rng(0)
    X, weight, tasks = rng.normal(size=(30, 5)), rng.integers(0, 4, 30), np.arange(30) % 2
    y = np.where(X[:, 1] > 0, 1, 0)
    weighted, repeated = (kind(method=method, **SMALL) for _ in range(2))
    weighted.fit(X, y, tasks=tasks, sample_weight=weight)
    repeated.fit(X.repeat(weight, axis=0), y.repeat(weight), tasks=tasks.repeat(weight))
    ask = "predict_proba" if kind is MultiTaskClassifier else "predict"
    actual, expected = (getattr(model, ask)(X, tasks=tasks) for model in (weighted, repeated))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", [TwoTaskClassifier, TwoTaskRegressor])
def test_the_split_has_two_tasks(kind: type[Any]) -> None:
    """The subclass really exercises more than one task."""
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert len(kind(max_steps=2, random_state=0).fit(X, np.arange(20) % 2).tasks_) == 2
