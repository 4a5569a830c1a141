"""What all estimators do alike: fitting, predicting, tasks."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import vmtl
from helpers.three_tasks import (
    REAL,
    TASK,
    UNIT,
    X,
    Y,
    classifier,
    paper_classifier,
    paper_regressor,
    regressor,
)
from vmtl import MultiTaskClassifier, MultiTaskRegressor, VMTLClassifier, VMTLRegressor

KINDS = [MultiTaskClassifier, MultiTaskRegressor, VMTLClassifier, VMTLRegressor]
RELATEDNESS = ["learned", "even", "none", "pooled"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_constructor_stores_what_it_is_given_unchanged(kind: type) -> None:
    names = list(inspect.signature(kind).parameters)
    values = {name: object() for name in names}
    model = kind(**values)
    assert vars(model) == values


@pytest.mark.parametrize("kind", [MultiTaskClassifier, MultiTaskRegressor])
def test_the_default_has_few_parameters(kind: type) -> None:
    assert len(inspect.signature(kind).parameters) <= 15


def test_methods_that_do_not_apply_are_absent() -> None:
    gp = {"add_task", "suggest", "fit_parquet"}
    classes = {"predict_proba", "predict_log_proba", "predict_set"}
    assert all(hasattr(classifier(), name) for name in gp | classes)
    assert all(hasattr(regressor(), name) for name in gp | {"predict_interval"})
    assert all(hasattr(paper_classifier(), name) for name in classes | {"settings"})
    assert not any(hasattr(paper_classifier(), name) for name in gp | {"predict_interval"})
    assert not any(hasattr(regressor(), name) for name in classes | {"settings"})
    assert not any(hasattr(paper_regressor(), name) for name in gp | classes)
    assert not hasattr(classifier(), "predict_interval")


def test_tasks_none_is_one_task() -> None:
    model = classifier().fit(X, Y)
    assert model.predict(X).shape == (48,)
    assert len(model.score_tasks(X, Y)) == 1
    assert model.alpha_.shape == (1, 1)


def test_one_label_is_the_task_of_all_rows(clf: MultiTaskClassifier) -> None:
    np.testing.assert_array_equal(clf.predict_proba(X, tasks="south"), clf.predict_proba(X, tasks=["south"] * 48))
    numbers = classifier().fit(X, Y, tasks=np.arange(48) % 2)
    np.testing.assert_array_equal(numbers.predict(X, tasks=1), numbers.predict(X, tasks=[1] * 48))
    assert clf.score_tasks(X, Y, tasks="south").index.tolist() == ["south"]
    with pytest.raises(ValueError, match="Unknown task 'east'"):
        clf.predict(X, tasks="east")


def test_not_fitted() -> None:
    for call in ("predict", "predict_proba", "transform", "uncertainty", "predict_set"):
        with pytest.raises(NotFittedError):
            getattr(classifier(), call)(X, tasks=TASK)
    with pytest.raises(NotFittedError):
        regressor().save("never.vmtl")
    with pytest.raises(NotFittedError):
        regressor().get_feature_names_out()
    assert not hasattr(regressor(), "alpha_")


@pytest.mark.parametrize("relatedness", RELATEDNESS)
def test_save_and_load_round_trip_exactly(relatedness: str, tmp_path: Path) -> None:
    for model, data, y in (
        (classifier(relatedness=relatedness), X, Y),
        (regressor(relatedness=relatedness), REAL.X, UNIT),
    ):
        model.fit(data, y, tasks=TASK)
        model.save(tmp_path / "m.vmtl")
        loaded = vmtl.load(tmp_path / "m.vmtl")
        assert type(loaded) is type(model)
        np.testing.assert_array_equal(loaded.predict(data, tasks=TASK), model.predict(data, tasks=TASK))
        assert loaded.uncertainty(data, tasks=TASK).equals(model.uncertainty(data, tasks=TASK))
        assert loaded.alpha_.equals(model.alpha_)
        assert loaded.get_params() == model.get_params()


@pytest.mark.parametrize("relatedness", RELATEDNESS)
def test_every_relatedness_predicts(relatedness: str) -> None:
    model = classifier(relatedness=relatedness).fit(X, Y, tasks=TASK)
    assert model.score(X, Y, tasks=TASK) > 0.8
    values = regressor(relatedness=relatedness).fit(REAL.X, UNIT, tasks=TASK)
    assert values.score(REAL.X, UNIT, tasks=TASK) > 0.5
    if relatedness == "none":
        assert (model.sharing_ == 0).all()
    if relatedness == "pooled":
        np.testing.assert_allclose(model.predict_proba(X, tasks="north"), model.predict_proba(X, tasks="west"))


def test_relatedness_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="relatedness must be one of 'learned', 'even', 'none', 'pooled'; got 'some'"):
        classifier(relatedness="some").fit(X, Y, tasks=TASK)


def test_unknown_task_average(clf: MultiTaskClassifier, reg: MultiTaskRegressor) -> None:
    averaging = clone(clf).set_params(unknown_task="average").fit(X, Y, tasks=TASK)
    tasks = np.where(np.arange(48) < 5, "east", TASK)
    averaged = averaging.predict_proba(X, tasks=tasks)
    each = np.mean([clf.predict_proba(X[:5], tasks=[name] * 5) for name in clf.tasks_], axis=0)
    np.testing.assert_allclose(averaged[:5], each, atol=1e-6)
    np.testing.assert_allclose(averaged[5:], clf.predict_proba(X, tasks=TASK)[5:], atol=1e-6)
    values = clone(reg).set_params(unknown_task="average").fit(REAL.X, UNIT, tasks=TASK)
    mean, std = values.predict(REAL.X, tasks=tasks, return_std=True)
    parts = np.array([reg.predict(REAL.X[:5], tasks=[name] * 5) for name in reg.tasks_])
    np.testing.assert_allclose(mean[:5], parts.mean(0), rtol=1e-6)
    assert (std[:5] >= parts.std(0)).all()
    assert averaging.score_tasks(X, Y, tasks=tasks).index.tolist() == ["east", "north", "south", "west"]


@pytest.mark.parametrize("method", ["vmtl", "stl"])
def test_an_unknown_task_is_transformed_as_the_average_of_all(method: str) -> None:
    model = paper_classifier(method=method, unknown_task="average").fit(X, Y, tasks=TASK)
    every = [model.transform(X, tasks=name) for name in model.tasks_]
    np.testing.assert_allclose(model.transform(X, tasks="nowhere"), np.mean(every, axis=0), atol=1e-6)


def test_transform_gives_features_with_names(clf: MultiTaskClassifier) -> None:
    z = clf.transform(X, tasks=TASK)
    assert z.shape == (48, len(clf.get_feature_names_out()))
    assert clf.get_feature_names_out()[0] == "multitaskclassifier0"
    assert np.isfinite(z).all()
    framed = clone(clf).set_output(transform="pandas").fit_transform(X, Y, tasks=TASK)
    np.testing.assert_allclose(framed.to_numpy(), z)
    assert list(framed.columns) == list(clf.get_feature_names_out())


def test_threads_are_restored() -> None:
    before = torch.get_num_threads()
    classifier(n_threads=before + 1).fit(X, Y, tasks=TASK).predict(X, tasks=TASK)
    assert torch.get_num_threads() == before


def test_the_bar_shows_the_phases_of_a_fit(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "160")
    classifier(verbose=1).fit(X, Y, tasks=TASK)
    shown = capsys.readouterr().err
    assert "Fitting" in shown
    assert "/?" not in shown


def test_predictions_are_double_precision(clf: MultiTaskClassifier, reg: MultiTaskRegressor) -> None:
    for prediction in (clf.predict_proba(X, tasks=TASK), reg.predict(REAL.X.astype(np.float32), tasks=TASK)):
        assert prediction.dtype == np.float64


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"unknown_task": "guess"}, "unknown_task must be one of 'error', 'average', 'similar'; got 'guess'"),
        ({"missing": "drop"}, "missing must be one of 'error', 'impute'"),
        ({"n_threads": 0}, "n_threads must be a positive integer or None"),
        ({"task_column": ["a"]}, "task_column must be the name or the position of a column"),
        ({"task_column": "task"}, "task_column='task' needs X to be a DataFrame"),
    ],
)
def test_bad_parameters_are_refused_by_fit(given: dict[str, Any], sentence: str) -> None:
    model = classifier(**given)
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, Y)
    assert not hasattr(model, "classes_")
