"""Classification as a user meets it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vmtl
from helpers.three_tasks import DATA, TASK, X, Y, classifier
from helpers.toys import toy
from vmtl import MultiTaskClassifier


def test_classifier_api(clf: MultiTaskClassifier) -> None:
    p = clf.predict_proba(X, tasks=TASK)
    assert p.shape == (48, 4)
    np.testing.assert_allclose(p.sum(1), 1, atol=1e-5)
    predicted = clf.predict(X, tasks=TASK)
    np.testing.assert_array_equal(predicted, clf.classes_[p.argmax(1)])
    assert clf.score(X, Y, tasks=TASK) == pytest.approx(np.mean(predicted == Y))
    assert clf.score(X, Y, tasks=TASK) > 0.9
    scores = clf.score_tasks(X, Y, tasks=TASK)
    assert list(scores.index) == ["north", "south", "west"]
    assert scores["south"] == pytest.approx(np.mean((predicted == Y)[TASK == "south"]))


def test_uncertainty_of_classes(clf: MultiTaskClassifier) -> None:
    parts = clf.uncertainty(X, tasks=TASK)
    assert list(parts.columns) == ["total", "aleatoric", "epistemic"]
    np.testing.assert_allclose(parts.total, parts.aleatoric + parts.epistemic, atol=1e-6)
    p = clf.predict_proba(X, tasks=TASK).astype(float)
    np.testing.assert_allclose(parts.total, -(p * np.log(np.maximum(p, 1e-30))).sum(1), atol=1e-4)
    assert (parts.to_numpy() >= -1e-7).all()


@pytest.mark.parametrize("labels", [[3, 1, 7, 5], [True, False], ["b", "a"], [2.0, 1.0, 0.0]])
def test_labels_of_any_kind_come_back(labels: list[Any], tmp_path: Path) -> None:
    y = np.array(labels)[DATA.y % len(labels)]
    model = classifier().fit(X, y, tasks=TASK)
    assert model.predict(X, tasks=TASK).dtype == y.dtype
    assert set(model.predict(X, tasks=TASK)) <= set(labels)
    model.save(tmp_path / "m.vmtl")
    loaded = vmtl.load(tmp_path / "m.vmtl")
    assert loaded.classes_.dtype == model.classes_.dtype


def test_a_class_missing_in_a_task_is_predicted_when_others_have_it() -> None:
    """Class 0 never occurs in the training rows of task 0; its test rows there are all of class 0."""
    train = toy([40, 40, 40], classes=4, seed=3)
    keep = ~((train.task == 0) & (train.y == 0))
    model = MultiTaskClassifier(random_state=0)
    model.fit(train.X[keep], train.y[keep], tasks=train.task[keep])
    hidden = train.X[~keep]
    accuracy = np.mean(model.predict(hidden, tasks=np.zeros(len(hidden), dtype=int)) == 0)
    assert accuracy > 0.5  # chance is 0.25, and a model of task 0 alone never says 0
    assert model.score(train.X[keep], train.y[keep], tasks=train.task[keep]) > 0.8


def test_logarithms_are_those_of_the_probabilities(clf: MultiTaskClassifier) -> None:
    logarithms = clf.predict_log_proba(X, tasks=TASK)
    assert np.isfinite(logarithms).all()
    np.testing.assert_allclose(np.exp(logarithms), clf.predict_proba(X, tasks=TASK), atol=1e-12)


@pytest.mark.slow
def test_many_tasks_many_classes_one_row_each() -> None:
    rng = np.random.default_rng(0)
    wide, labels = rng.normal(size=(300, 20)), np.arange(300) % 130
    model = classifier().fit(wide, labels, tasks=np.arange(300) % 75)
    assert model.predict_proba(wide[:3], tasks=[0, 1, 2]).shape == (3, 130)
    assert model.alpha_.shape == (75, 75)
