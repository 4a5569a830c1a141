"""The fast gradient sign method: the gradient against finite differences of the model's own loss."""

from __future__ import annotations

import numpy as np

from benchmarks.paper.run.attack import attacked, input_gradient
from vmtl import VMTLClassifier
from vmtl.data import Problem


def problem(seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    y = np.tile(np.arange(3), 20)
    X = np.eye(3)[y] @ rng.standard_normal((3, 5)) + rng.standard_normal((60, 5))
    return Problem("p", X, y, np.repeat([0, 1], 30), ("north", "south"), ("a", "b", "c"))


def test_the_gradient_is_that_of_the_loss() -> None:
    rows = problem()
    options = {"encoder": "linear", "predictive": "mean", "dtype": "float64", "max_steps": 20}
    model = VMTLClassifier("bmtl", random_state=0, **options)
    model.fit(rows.X, rows.labels, tasks=rows.tasks)

    def losses(X: np.ndarray) -> np.ndarray:
        return -np.log(model.predict_proba(X, tasks=rows.tasks)[np.arange(60), rows.y])

    step, numeric = 1e-5, np.empty_like(rows.X)
    for j in range(rows.X.shape[1]):
        move = step * np.eye(rows.X.shape[1])[j]
        numeric[:, j] = (losses(rows.X + move) - losses(rows.X - move)) / (2 * step)
    np.testing.assert_allclose(input_gradient(model, rows), numeric, rtol=1e-4, atol=1e-7)


def test_rows_move_by_the_level_in_units_of_their_spread() -> None:
    rows = problem()
    gradient = np.where(np.arange(5) == 0, 0.0, -2.0) * np.ones((60, 1))
    moved = attacked(rows, gradient, 0.5)
    np.testing.assert_allclose(moved[:, 0], rows.X[:, 0], rtol=1e-6)
    np.testing.assert_allclose(rows.X[:, 1:] - moved[:, 1:], 0.5 * rows.X.std(), rtol=1e-4)
