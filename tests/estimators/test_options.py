"""No option of the estimators is inert: each, changed alone from the default, changes what a user can see."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl._utils.types import Array
from vmtl.estimators.parameters import OPTIONS
from vmtl.inference.exact import lattice

Estimator = MultiTaskClassifier | MultiTaskRegressor

RNG = np.random.default_rng(0)
TASK = np.repeat(np.arange(4), 12)
SECOND = TASK >= 2  # two groups of two tasks
X = RNG.normal(size=(48, 4)) + 2 * np.outer(SECOND, [0, 0, 0, 1])
Y = np.where(SECOND, X[:, 1], X[:, 0]) + 0.5 * RNG.normal(size=48)
NEW, NEW_TASK = RNG.normal(size=(20, 4)), np.arange(20) % 4

#: Every option that is a setting, and others that a fit depends on, with another value than the default's.
CHANGED: list[tuple[str, Any]] = [
    ("method", "vmtl_ac"),
    ("preset", "paper"),
    ("encoder", "linear"),
    ("latent_dim", 3),
    ("sharing", 0.5),
    ("kl_form", "monte-carlo"),
    ("kl_form", "moment-matched"),
    ("kl_form", "weighted-sum"),
    ("mixing", "mean"),
    ("mixing", "learnable"),
    ("tie_mixing", True),
    ("bayesian_z", False),
    ("bayesian_w", False),
    ("n_z", 1),
    ("n_w", 1),
    ("max_steps", 20),
    ("learning_rate", 0.01),
    ("batch_rows", 2),
    ("predictive", "mean"),
    ("predictive", "monte-carlo"),
    ("early_stopping", True),
    ("dtype", "float64"),
    ("random_state", 1),
]
#: The same of options that only a classifier has.
OF_CLASSES: list[tuple[str, Any]] = [("forest", False)]
#: Under these everything is trained, for as many steps as the preset has: a few are enough.
TRAINED = ("method", "preset", "encoder", "sharing", "bayesian_w", "early_stopping")

pytestmark = pytest.mark.usefixtures("quick_inference")


@cache  # most tests compare with the same fit
def visible(kind: type[Estimator], **options: Any) -> dict[str, Array]:
    """What a fit shows: predictions with their uncertainty, and the relations of the tasks."""
    model = kind(**{"random_state": 0, **options})
    model.fit(X, Y > 0 if kind is MultiTaskClassifier else Y, tasks=TASK)
    predict = model.predict_proba if isinstance(model, MultiTaskClassifier) else model.predict
    return {
        "prediction": predict(NEW, tasks=NEW_TASK),
        "uncertainty": model.uncertainty(NEW, tasks=NEW_TASK).select_dtypes("number").to_numpy(),
        "alpha": model.alpha_.to_numpy(),
        "beta": model.beta_.to_numpy(),
        "sharing": model.sharing_.to_numpy(),
    }


def differences(kind: type[Estimator], name: str, value: Any, **options: Any) -> dict[str, float]:
    before, after = visible(kind, **options), visible(kind, **{**options, name: value})
    return {key: float(np.abs(after[key] - before[key]).max()) for key in before}


def test_every_option_is_looked_at() -> None:
    of_both, of_classes = ({name for name, _ in changed} for changed in (CHANGED, OF_CLASSES))
    assert set(OPTIONS) == set(MultiTaskRegressor()._options) <= of_both
    assert set(MultiTaskClassifier()._options) - set(OPTIONS) == of_classes


@pytest.mark.parametrize("kind", [MultiTaskClassifier, MultiTaskRegressor])
@pytest.mark.parametrize(("name", "value"), CHANGED, ids=str)
def test_an_option_changes_something(kind: type[Estimator], name: str, value: Any) -> None:
    options = {"max_steps": 10} if name in TRAINED else {}
    assert max(differences(kind, name, value, **options).values()) > 1e-7


@pytest.mark.parametrize(("name", "value"), OF_CLASSES, ids=str)
def test_an_option_of_the_classifier_alone_changes_its_predictions(name: str, value: Any) -> None:
    assert differences(MultiTaskClassifier, name, value)["prediction"] > 1e-3
    assert not hasattr(MultiTaskRegressor(), name)


@pytest.mark.parametrize("kind", [MultiTaskClassifier, MultiTaskRegressor])
@pytest.mark.parametrize("name", ["n_z", "n_w"])
def test_the_number_of_draws_counts_where_predictions_are_drawn(kind: type[Estimator], name: str) -> None:
    changed = differences(kind, name, 3, predictive="monte-carlo", max_steps=10)
    assert changed["prediction" if kind is MultiTaskClassifier else "uncertainty"] > 1e-5


@pytest.mark.parametrize("kind", [MultiTaskClassifier, MultiTaskRegressor])
def test_what_the_modes_of_mixing_change_is_predictions(kind: type[Estimator], monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only the map that is shown. The most probable scales are others than those in the middle of many."""
    monkeypatch.setattr(lattice, "MAX_POINTS", 30)
    before = visible.__wrapped__(kind)
    for mode, least in (("mean", 0.02), ("learnable", 1e-4)):
        after = visible.__wrapped__(kind, mixing=mode)
        assert np.abs(after["prediction"] - before["prediction"]).max() > least, mode
        assert np.abs(after["alpha"] - before["alpha"]).max() > 1e-3, mode


@pytest.mark.parametrize("kind", [MultiTaskClassifier, MultiTaskRegressor])
def test_tied_mixing_weights_are_one_map(kind: type[Estimator]) -> None:
    tied, apart = visible(kind, tie_mixing=True), visible(kind)
    np.testing.assert_array_equal(tied["beta"], tied["alpha"])
    assert np.abs(apart["beta"] - apart["alpha"]).max() > 0.01
