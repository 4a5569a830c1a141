"""A fit that fails says why, and leaves the estimator as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers.small_fits import TASKS, X, Y, small, spoiled
from vmtl.inference.variational.training import DivergenceError


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
    ("options", "sentence"),
    [
        ({"sharing": 1.5}, "sharing must be between 0 and 1; got 1.5"),
        ({"sharing": -0.1}, "sharing must be between 0 and 1"),
        ({"latent_dim": 0}, "latent_dim must be a positive integer; got 0"),
        ({"max_steps": 0}, "max_steps must be a positive integer"),
        ({"n_z": 1.5}, "n_z must be a positive integer"),
        ({"learning_rate": 0}, "learning_rate must be positive; got 0"),
        ({"learning_rate": -1.0}, "learning_rate must be positive"),
        ({"kl_form": "exact"}, "kl_form must be one of 'bound'"),
        ({"mixing": "hard"}, "mixing must be one of 'gumbel', 'learnable', 'mean'"),
        ({"encoder": "cnn"}, "encoder must be one of 'kernel'"),
        ({"predictive": "map"}, "predictive must be one of"),
        ({"method": "nash"}, "Unknown method 'nash'; choose one of"),
        ({"preset": "fast"}, "Unknown preset 'fast'; choose one of default, paper, released"),
        ({"unknown_task": "guess"}, "unknown_task must be one of 'error', 'average', 'similar'"),
        ({"missing": "drop"}, "missing must be one of 'error', 'impute'"),
        ({"dtype": "float16"}, "dtype must be one of 'float32', 'float64'"),
        ({"task_column": "task"}, "task_column='task' needs X to be a DataFrame"),
    ],
)
def test_bad_options_are_refused_by_fit_not_by_init(options: dict[str, Any], sentence: str) -> None:
    estimator = small(**options)
    tasks = None if "task_column" in options else TASKS
    with pytest.raises(ValueError, match=sentence):
        estimator.fit(X, Y, tasks=tasks)
    assert not hasattr(estimator, "classes_")


@pytest.mark.parametrize(
    "attempt",
    [
        lambda m: m.fit(spoiled(np.nan), Y, tasks=TASKS),
        lambda m: m.fit(X[:, :4], np.where(Y == 0, 9, Y), tasks=TASKS[:5]),
        lambda m: m.set_params(sharing=3.0).fit(X[:, :4], Y + 5, tasks=TASKS),
        lambda m: m.fit(X[:, :4], Y + 5, tasks=TASKS, callback=stop),
    ],
)
def test_a_failed_fit_leaves_a_fitted_model_as_it_was(attempt: Any) -> None:
    fitted = small().fit(X, Y, tasks=TASKS)
    before = fitted.predict_proba(X, tasks=TASKS)
    with pytest.raises((ValueError, RuntimeError)):
        attempt(fitted)
    np.testing.assert_array_equal(fitted.predict_proba(X, tasks=TASKS), before)
    assert list(fitted.classes_) == [0, 1, 2]


def stop(progress: Any) -> None:
    raise RuntimeError("stop")


def test_divergence_names_the_task_and_leaves_nothing() -> None:
    estimator = small(encoder="linear", method="bmtl", preset="paper", max_steps=5, learning_rate=1e30)
    with pytest.raises(
        DivergenceError, match=r"Training diverged at step \d+: nll of task '\w+' is not finite"
    ) as caught:
        estimator.fit(X, Y, tasks=TASKS)
    assert caught.value.step >= 1
    assert not hasattr(estimator, "classes_")
