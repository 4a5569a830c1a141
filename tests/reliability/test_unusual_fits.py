"""One row, ten thousand classes, a fit that fails after one that did not; the user's data stay as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers.bad_inputs import OPTIONS
from helpers.reliable import Toy
from vmtl import MultiTaskClassifier, MultiTaskRegressor, VMTLClassifier
from vmtl._utils.tensor_files import ModelFileError


def test_one_row(toy: Toy) -> None:
    for kind, y in ((MultiTaskClassifier, toy.labels), (MultiTaskRegressor, toy.values)):
        model = kind(**OPTIONS).fit(toy.X[:1], y[:1], tasks=["only"])
        assert np.isfinite(model.uncertainty(toy.X).to_numpy()).all()


def test_the_users_data_are_never_changed(toy: Toy) -> None:
    X, y, tasks = toy.X.astype(np.float32), toy.values.copy(), toy.tasks.copy()
    before = X.copy(), y.copy(), tasks.copy()
    model = MultiTaskRegressor(**OPTIONS).fit(X, y, tasks=tasks)
    expected = model.predict(X, tasks=tasks)
    assert all((a == b).all() for a, b in zip((X, y, tasks), before, strict=True))
    kept = X.copy()
    X[:] = 0
    assert (model.predict(kept, tasks=tasks) == expected).all()


def check_many_classes(n_classes: int) -> None:
    """Two rows of every class, a row in each of two tasks."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), 2)
    X = rng.normal(size=(len(y), 8)) + y[:, None] % 7
    tasks = np.tile([0, 1], n_classes)
    options: dict[str, Any] = {"encoder": "linear", "latent_dim": 8, "n_z": 1, "n_w": 1, "max_steps": 1}
    model = VMTLClassifier(method="bmtl", random_state=0, **options).fit(X, y, tasks=tasks)
    probabilities = model.predict_proba(X[:100], tasks=tasks[:100])
    assert probabilities.shape == (100, n_classes)
    np.testing.assert_allclose(probabilities.sum(1), 1, atol=1e-4)


def test_hundreds_of_classes() -> None:
    check_many_classes(300)


@pytest.mark.slow
def test_ten_thousand_classes() -> None:
    check_many_classes(10_000)


def test_a_failed_refit_keeps_the_model(toy: Toy) -> None:
    """Also what was learned of columns and classes."""
    model = MultiTaskClassifier(**OPTIONS).fit(toy.X, toy.labels, tasks=toy.tasks)
    before = model.predict(toy.X, tasks=toy.tasks)
    for change in ({"y": toy.labels[:-1]}, {"tasks": toy.tasks[:-1]}, {"X": toy.X[:, :2], "y": None}):
        inputs: dict[str, Any] = {"X": toy.X, "y": np.where(toy.values > 0, 1, 0), "tasks": toy.tasks, **change}
        with pytest.raises(ValueError):
            model.fit(inputs["X"], inputs["y"], tasks=inputs["tasks"])
        assert (model.predict(toy.X, tasks=toy.tasks) == before).all()


def test_a_model_file_error_is_a_value_error() -> None:
    assert issubclass(ModelFileError, ValueError)
