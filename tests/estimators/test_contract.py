"""What the default must hold on every problem, for whatever tasks may share."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import vmtl
from helpers.reliable import digest
from helpers.toys import Toy, toy
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl._utils.types import Array

#: One task, ragged tasks, a class that a task lacks, two tasks, and five.
PROBLEMS: list[Toy] = [
    toy([12], classes=4, features=7),
    toy([12, 9, 11], classes=4, features=7, missing=[(1, 0)]),
    toy([12, 12], classes=2, features=7),
    toy([4, 13, 9], features=7),
    toy([12], features=7),
    toy([6, 6, 6, 6, 6], features=7),
]
RELATEDNESS = ("learned", "even", "none", "pooled")

pytestmark = [
    pytest.mark.parametrize("relatedness", RELATEDNESS),
    pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name),
]


def unfitted(problem: Toy, relatedness: str, seed: int = 0) -> Any:
    kind = MultiTaskClassifier if problem.classes else MultiTaskRegressor
    return kind(relatedness, random_state=seed)


@cache
def fitted(problem: Toy, relatedness: str) -> Any:
    """A fitted estimator; ask for no changes to it."""
    return unfitted(problem, relatedness).fit(problem.X, problem.y, tasks=problem.task)


def predictions(model: Any, X: Array, tasks: Array) -> list[Array]:
    mean = model.predict_proba(X, tasks=tasks) if hasattr(model, "classes_") else model.predict(X, tasks=tasks)
    return [mean, model.uncertainty(X, tasks=tasks).to_numpy()]


def test_predictions_are_finite_and_better_than_a_constant(problem: Toy, relatedness: str) -> None:
    model = fitted(problem, relatedness)
    far = 1e3 * np.random.default_rng(0).normal(size=problem.X.shape)
    for X in (problem.X, far):
        for values in predictions(model, X, problem.task):
            assert np.isfinite(values).all()
    assert model.score(problem.X, problem.y, tasks=problem.task) > (0.5 if problem.classes else 0.2)
    if problem.classes:
        np.testing.assert_allclose(model.predict_proba(problem.X, tasks=problem.task).sum(1), 1, atol=1e-9)


def test_the_same_seed_gives_the_same_bits(problem: Toy, relatedness: str) -> None:
    again = unfitted(problem, relatedness).fit(problem.X, problem.y, tasks=problem.task)
    assert digest(again) == digest(fitted(problem, relatedness))


def test_the_order_of_rows_does_not_matter(problem: Toy, relatedness: str) -> None:
    order = np.random.default_rng(1).permutation(len(problem.y))
    again = unfitted(problem, relatedness).fit(problem.X[order], problem.y[order], tasks=problem.task[order])
    for one, two in zip(
        *(predictions(m, problem.X, problem.task) for m in (fitted(problem, relatedness), again)), strict=True
    ):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-9)


def test_the_names_of_tasks_do_not_matter(problem: Toy, relatedness: str) -> None:
    names = np.array(["a", "b", "c", "d", "e"])[problem.task]
    renamed = unfitted(problem, relatedness).fit(problem.X, problem.y, tasks=names)
    assert digest(renamed) == digest(fitted(problem, relatedness))


def test_clone_save_and_load(problem: Toy, relatedness: str, tmp_path: Path) -> None:
    model = fitted(problem, relatedness)
    again = clone(model)
    assert not hasattr(again, "tasks_")
    assert again.get_params() == model.get_params()
    model.save(tmp_path / "m.vmtl")
    loaded = vmtl.load(tmp_path / "m.vmtl")
    for one, two in zip(*(predictions(m, problem.X, problem.task) for m in (model, loaded)), strict=True):
        np.testing.assert_array_equal(one, two)
    assert loaded.get_params() == model.get_params()
    assert loaded.alpha_.equals(model.alpha_)
    assert loaded.sharing_.equals(model.sharing_)
    assert loaded.hyperparameters_ == model.hyperparameters_
    assert digest(loaded) == digest(model)


def test_rows_are_predicted_alike_in_any_company(problem: Toy, relatedness: str) -> None:
    model = fitted(problem, relatedness)
    together = predictions(model, problem.X, problem.task)
    for row in range(3):
        alone = predictions(model, problem.X[row : row + 1], problem.task[row : row + 1])
        for one, all_ in zip(alone, together, strict=True):
            np.testing.assert_allclose(one[0], all_[row], rtol=0, atol=1e-7)
