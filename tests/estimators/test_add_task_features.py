"""``add_task`` of rows that the features of a fit hardly see: they get features of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import vmtl
from vmtl import MultiTaskRegressor
from vmtl.datasets import load_rotated_digits


def predictions(model: MultiTaskRegressor, X: np.ndarray, tasks: np.ndarray) -> list[np.ndarray]:
    return [model.predict(X, tasks=tasks), model.uncertainty(X, tasks=tasks).to_numpy()]


def test_rows_that_no_feature_reaches_get_features_of_their_own(tmp_path: Path) -> None:
    """A digit among other digits: kernels of the others see a part of it only, and its own rows the rest."""
    digits = load_rotated_digits()
    train = np.concatenate([np.flatnonzero(digits.task == t)[:15] for t in range(6)])
    test = np.concatenate([np.flatnonzero(digits.task == t)[15:40] for t in range(6)])
    known, first, second = (np.isin(digits.task, tasks) for tasks in ([0, 1, 2, 3], [4], [5]))

    def add(model: MultiTaskRegressor, task: np.ndarray) -> list[list[np.ndarray]]:
        mine = train[task[train]]
        model.add_task(digits.X[mine], digits.y[mine], task=digits.tasks[mine][0])
        return [
            predictions(model, digits.X[rest], digits.tasks[rest]) for rest in (test[known[test]], test[first[test]])
        ]

    mine = train[known[train]]
    model = MultiTaskRegressor(random_state=0).fit(digits.X[mine], digits.y[mine], tasks=digits.tasks[mine])
    others = predictions(model, digits.X[test[known[test]]], digits.tasks[test[known[test]]])
    size = len(model.get_feature_names_out())
    one, two = add(model, first), add(model, second)
    assert len(model.get_feature_names_out()) > size
    for before, after in ((others, one[0]), (others, two[0]), (one[1], two[1])):
        assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    refit = MultiTaskRegressor(random_state=0).fit(digits.X[train], digits.y[train], tasks=digits.tasks[train])
    for task in (first, second):
        rest = test[task[test]]
        away, error = (
            np.sqrt(np.mean((model.predict(digits.X[rest], tasks=digits.tasks[rest]) - target) ** 2))
            for target in (refit.predict(digits.X[rest], tasks=digits.tasks[rest]), digits.y[rest])
        )
        assert away < 0.6 * error
    model.save(tmp_path / "model.vmtl")
    again = vmtl.load(tmp_path / "model.vmtl")
    saved = predictions(again, digits.X[test], digits.tasks[test])
    assert all(
        np.array_equal(a, b) for a, b in zip(predictions(model, digits.X[test], digits.tasks[test]), saved, strict=True)
    )
