"""A fit that fails says why, and leaves the estimator as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers.small_fits import TASKS, X, Y, small, spoiled
from vmtl import VMTLClassifier
from vmtl.paper.training.training import DivergenceError


def test_a_task_whose_rows_weigh_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="Task 'south' has no rows with a positive sample_weight; drop it"):
        small().fit(X, Y, tasks=TASKS, sample_weight=(TASKS != "south").astype(float))


def test_unequal_lengths() -> None:
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples|give one per row"):
        small().fit(X, Y[:-1], tasks=TASKS)
    with pytest.raises(ValueError, match="sample_weight"):
        small().fit(X, Y, tasks=TASKS, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        small().fit(X, Y, tasks=TASKS, sample_weight=-np.ones(24))
    with pytest.raises(ValueError, match=r"y is None|requires y"):
        small().fit(X, None, tasks=TASKS)


@pytest.mark.parametrize(
    "attempt",
    [
        lambda m: m.fit(spoiled(np.nan), Y, tasks=TASKS),
        lambda m: m.fit(X[:, :4], np.where(Y == 0, 9, Y), tasks=TASKS[:5]),
        lambda m: m.set_params(relatedness="some").fit(X[:, :4], Y + 5, tasks=TASKS),
        lambda m: m.set_params(verbose=1).fit(X[:, :4], Y + 5, tasks=[["a"]] * len(X)),
    ],
)
def test_a_failed_fit_leaves_a_fitted_model_as_it_was(attempt: Any) -> None:
    fitted = small().fit(X, Y, tasks=TASKS)
    before = fitted.predict_proba(X, tasks=TASKS)
    with pytest.raises((ValueError, RuntimeError)):
        attempt(fitted)
    np.testing.assert_array_equal(fitted.predict_proba(X, tasks=TASKS), before)
    assert list(fitted.classes_) == [0, 1, 2]


def test_an_error_in_the_middle_of_a_fit_leaves_the_model_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    from vmtl.gp import fit as gp_fit

    def stop(*rest: Any, **options: Any) -> None:
        raise RuntimeError("stop")

    fitted = small().fit(X, Y, tasks=TASKS)
    before = dict(vars(fitted))
    monkeypatch.setattr(gp_fit, "fit", stop)
    with pytest.raises(RuntimeError, match="stop"):
        fitted.fit(X[:, :4], Y + 5, tasks=TASKS)
    assert vars(fitted) == before


def test_divergence_names_the_task_and_leaves_nothing() -> None:
    estimator = VMTLClassifier("bmtl", encoder="linear", max_steps=5, learning_rate=1e30, random_state=0)
    with pytest.raises(
        DivergenceError, match=r"Training diverged at step \d+: nll of task '\w+' is not finite"
    ) as caught:
        estimator.fit(X, Y, tasks=TASKS)
    assert caught.value.step >= 1
    assert not hasattr(estimator, "classes_")
