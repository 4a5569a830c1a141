"""Reference rows against scikit-learn on explicit features, and the attack against finite differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from benchmarks.paper.run.attack import attacked, input_gradient
from vmtl import MultiTaskClassifier
from vmtl._utils.types import Array
from vmtl.data.problem import Problem
from vmtl.data.splits import random_split
from vmtl.datasets import load_digits_domains, load_rotated_digits
from vmtl.evaluation.references import REFERENCES, fit_reference, scale_by_norm


def sides(problem: Problem, fraction: float = 0.06) -> tuple[Problem, Problem]:
    split = random_split(problem, fraction, 0)
    return problem.subset(split.train), problem.subset(split.test[::10])


def augmented(x: Array, task: Array, n_tasks: int) -> Array:
    """[x; copies of (x, 1) in the block of the row's own task] written out."""
    wide = np.zeros((len(x), n_tasks, x.shape[1] + 1))
    wide[np.arange(len(x)), task] = np.c_[x, np.ones(len(x))]
    return np.c_[x, wide.reshape(len(x), -1)]


def test_augmented_row_is_logistic_regression_on_written_out_features() -> None:
    train, test = sides(load_digits_domains())
    a, b = scale_by_norm(np.asarray(train.X, float), np.asarray(test.X, float))
    a, b = augmented(a, train.task, 4), augmented(b, test.task, 4)
    wanted = LogisticRegression(C=100.0, max_iter=5000, tol=1e-8).fit(a, train.y).predict_proba(b)
    reference = fit_reference(REFERENCES["augmented_linear"], train, test, 100.0, 0)
    assert reference.p == pytest.approx(wanted, abs=2e-3)


def test_ridge_rows_are_ridge_on_written_out_features() -> None:
    train, test = sides(load_rotated_digits())
    a, b = scale_by_norm(np.asarray(train.X, float), np.asarray(test.X, float))
    pooled = Ridge(alpha=0.01).fit(a, train.y).predict(b)
    assert fit_reference(REFERENCES["pooled_linear"], train, test, 100.0, 0).mean == pytest.approx(pooled, abs=1e-3)
    wide = Ridge(alpha=0.01).fit(augmented(a, train.task, 10), train.y).predict(augmented(b, test.task, 10))
    assert fit_reference(REFERENCES["augmented_linear"], train, test, 100.0, 0).mean == pytest.approx(wide, abs=1e-3)


def test_per_task_row_is_one_model_per_task() -> None:
    train, test = sides(load_digits_domains())
    reference = fit_reference(REFERENCES["per_task_linear"], train, test, 100.0, 0)
    assert reference.p is not None
    a, b = scale_by_norm(np.asarray(train.X, float), np.asarray(test.X, float))
    own, asked = train.task == 2, test.task == 2
    wanted = LogisticRegression(C=100.0, max_iter=5000, tol=1e-8).fit(a[own], train.y[own]).predict_proba(b[asked])
    assert reference.p[asked][:, np.unique(train.y[own])] == pytest.approx(wanted, abs=2e-3)


def test_cross_validation_looks_at_training_rows_only() -> None:
    train, test = sides(load_digits_domains())
    chosen = fit_reference(REFERENCES["pooled_linear"], train, test, None, 0).chosen
    other = replace(test, y=np.roll(test.y, 3))
    assert fit_reference(REFERENCES["pooled_linear"], train, other, None, 0).chosen == chosen
    assert chosen["C"] in [10.0**k for k in range(-2, 5)]


@pytest.mark.parametrize(("encoder", "step", "least"), [("linear", 1e-5, 0.99999), ("kernel", 2e-2, 0.9)])
def test_input_gradient_points_where_finite_differences_do(encoder: str, step: float, least: float) -> None:
    """The kernel encoder has a view with steps, so its differences need a wide step and agree less closely.

    A low rate keeps probabilities away from 1, where a difference of losses would be rounding, and no feature is 0,
    where the gradient would be taken beside it.
    """
    train, test = sides(load_digits_domains())
    test = replace(test.subset(np.arange(3)), X=np.maximum(np.asarray(test.X[:3], float), 0.01))
    options = {"max_steps": 3, "learning_rate": 0.01, "random_state": 0, "dtype": "float64", "predictive": "mean"}
    model = MultiTaskClassifier("bmtl", encoder=encoder, **options)
    model.fit(np.asarray(train.X, float), train.labels, tasks=train.tasks)
    gradient = input_gradient(model, test)

    def losses(x: Array) -> Array:
        p = model.predict_proba(x, tasks=test.tasks)
        return -np.log(p[np.arange(3), np.searchsorted(model.classes_, test.labels)])

    x = np.asarray(test.X, float)
    inner = np.flatnonzero((x > 0.1).all(axis=0) & (x < 0.9).all(axis=0))
    inner = inner if len(inner) >= 4 else np.flatnonzero((x > 0.05).all(axis=0))
    moves = [step * (np.arange(x.shape[1]) == column) for column in inner]
    slopes = np.stack([(losses(x + move) - losses(x - move)) / (2 * step) for move in moves], axis=1)
    assert losses(x).min() > 1e-3
    for row, slope in zip(gradient[:, inner], slopes, strict=True):
        assert row @ slope / np.linalg.norm(row) / np.linalg.norm(slope) > least


def test_the_attack_hurts_more_with_more_noise() -> None:
    train, test = sides(load_digits_domains())
    model = MultiTaskClassifier("bmtl", max_steps=100, random_state=0).fit(train.X, train.labels, tasks=train.tasks)
    gradient = input_gradient(model, test)
    scores = [model.score(attacked(test, gradient, e), test.labels, tasks=test.tasks) for e in (0, 0.1, 0.5)]
    assert scores[0] > scores[1] > scores[2]
    assert attacked(test, gradient, 0.0) == pytest.approx(np.asarray(test.X))
