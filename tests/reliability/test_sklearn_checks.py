"""scikit-learn's own checks, for both estimators and every method, alone and split into two tasks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import _num_samples

from vmtl import METHODS, MultiTaskClassifier, MultiTaskRegressor

#: A small network of fixed size, fast enough for all methods; the default features are checked with FIRST.
SMALL: dict[str, Any] = {"encoder": "linear", "latent_dim": 4, "max_steps": 60, "random_state": 0}
DEFAULT: dict[str, Any] = {"max_steps": 12, "random_state": 0}
#: The default and the amortised method; features of its own for every task are in the long form.
FIRST, SECOND = ("vmtl", "vmtl_ac"), ("stl",)
OTHERS = tuple(method for method in METHODS if method != "vmtl_ac")
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


def made(kinds: Iterable[type[Any]], methods: Iterable[str], **options: Any) -> list[Any]:
    return [kind(method=method, **options) for kind in kinds for method in methods]


PLAIN = (MultiTaskClassifier, MultiTaskRegressor)
SPLIT = (TwoTaskClassifier, TwoTaskRegressor)
checks = partial(parametrize_with_checks, expected_failed_checks=lambda estimator: NOT_BITS)


@checks([*made(PLAIN, OTHERS, **SMALL), *made(PLAIN, FIRST, **DEFAULT)])
def test_every_method(estimator: Any, check: Any) -> None:
    check(estimator)


@checks(made(SPLIT, ("vmtl",), unknown_task="average", **DEFAULT))
def test_two_tasks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@checks(
    [*made(SPLIT, OTHERS, unknown_task="average", **SMALL), *made((*PLAIN, *SPLIT), (*SECOND, "vmtl_ac"), **DEFAULT)]
)
def test_two_tasks_of_every_method(estimator: Any, check: Any) -> None:
    check(estimator.set_params(unknown_task="average"))


@parametrize_with_checks(made(PLAIN, ("bmtl",), dtype="float64", **SMALL))
def test_weights_are_exact_without_rounding_and_draws(estimator: Any, check: Any) -> None:
    """Nothing random per row and no size that depends on the rows: then every check passes."""
    check(estimator)


@pytest.mark.parametrize("kind", [TwoTaskClassifier, TwoTaskRegressor])
def test_the_split_has_two_tasks(kind: type[Any]) -> None:
    """The subclass really exercises more than one task."""
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert len(kind(max_steps=2, random_state=0).fit(X, np.arange(20) % 2).tasks_) == 2
