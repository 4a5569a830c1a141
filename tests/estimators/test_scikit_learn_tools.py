"""With what users have around the estimators: pandas, pipelines, searches, metadata routing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.inspection import permutation_importance
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import vmtl
from helpers.three_tasks import TASK, X, Y, classifier, paper_classifier
from vmtl import MultiTaskClassifier

CV = KFold(2, shuffle=True, random_state=0)
#: The tasks as the last column of an array, by number.
ARRAY = np.column_stack([X, np.unique(TASK, return_inverse=True)[1]])


def test_pandas_in_and_out(frame: pd.DataFrame, clf: MultiTaskClassifier) -> None:
    table = frame.drop(columns="site")
    model = classifier().fit(table, pd.Series(Y, index=frame.index), tasks=frame["site"])
    assert list(model.feature_names_in_) == list(table.columns)
    np.testing.assert_allclose(
        model.predict_proba(table, tasks=frame["site"]), clf.predict_proba(X, tasks=TASK), atol=1e-6
    )
    assert model.uncertainty(table, tasks=frame["site"]).index.equals(frame.index)


def test_a_task_column_by_name(frame: pd.DataFrame, clf: MultiTaskClassifier, tmp_path: Path) -> None:
    model = classifier(task_column="site").fit(frame, Y)
    assert model.n_features_in_ == 6
    expected = clf.predict_proba(X, tasks=TASK)
    np.testing.assert_allclose(model.predict_proba(frame), expected, atol=1e-6)
    assert model.score_tasks(frame, Y).equals(clf.score_tasks(X, Y, tasks=TASK))
    model.save(tmp_path / "m.vmtl")
    np.testing.assert_allclose(vmtl.load(tmp_path / "m.vmtl").predict_proba(frame), expected, atol=1e-6)
    moved = model.predict_proba(frame, tasks="west")
    np.testing.assert_allclose(moved, clf.predict_proba(X, tasks="west"), atol=1e-6)


@pytest.mark.parametrize("place", [6, -1])
def test_a_task_column_by_position(place: int, frame: pd.DataFrame, clf: MultiTaskClassifier) -> None:
    expected = clf.predict_proba(X, tasks=TASK)
    of_frame = classifier(task_column=place).fit(frame, Y)
    np.testing.assert_allclose(of_frame.predict_proba(frame), expected, atol=1e-6)
    of_array = classifier(task_column=place).fit(ARRAY, Y)
    assert of_array.tasks_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(of_array.predict_proba(ARRAY), expected, atol=1e-6)
    np.testing.assert_allclose(of_array.predict_proba(ARRAY.tolist()), expected, atol=1e-6)
    np.testing.assert_allclose(of_array.predict_proba(X, tasks=ARRAY[:, 6]), expected, atol=1e-6)
    with pytest.raises(ValueError, match="task_column=9 is not a column of X, which has 7"):
        classifier(task_column=9).fit(ARRAY, Y)


def test_cross_validation_by_a_task_column(frame: pd.DataFrame) -> None:
    for model, table in ((classifier(task_column="site"), frame), (classifier(task_column=-1), ARRAY)):
        assert np.isfinite(cross_val_score(model, table, Y, cv=CV, scoring="neg_log_loss")).all()
    scores = cross_validate(classifier(task_column="site"), frame, Y, cv=CV, scoring=["accuracy", "neg_log_loss"])
    assert np.isfinite(scores["test_neg_log_loss"]).all()


def test_tasks_that_are_left_out_are_predicted_as_an_average(frame: pd.DataFrame) -> None:
    model = classifier(task_column="site", unknown_task="average")
    scores = cross_val_score(model, frame, Y, cv=GroupKFold(3), groups=frame["site"])
    assert np.isfinite(scores).all()


def test_the_error_without_tasks_says_what_to_do(clf: MultiTaskClassifier) -> None:
    with pytest.raises(ValueError, match=r"This model has 3 tasks; pass tasks=.*task_column"):
        clf.predict(X)


def test_pipelines_and_searches_by_a_task_column(frame: pd.DataFrame) -> None:
    scaler = ColumnTransformer([("scaled", StandardScaler(), [f"f{j}" for j in range(6)])], remainder="passthrough")
    scaler.set_output(transform="pandas")
    pipeline = make_pipeline(scaler, classifier(task_column="remainder__site"))
    assert np.isfinite(cross_val_score(pipeline, frame, Y, cv=CV)).all()
    mixed = frame.sample(frac=1, random_state=0)
    labels = Y[mixed.index - 100]
    search = GridSearchCV(classifier(task_column="site"), {"relatedness": ["learned", "none"]}, cv=2)
    assert search.fit(mixed, labels).best_params_["relatedness"] in ("learned", "none")
    search = GridSearchCV(paper_classifier(task_column="site"), {"method": ["vmtl", "bmtl"]}, cv=2)
    assert search.fit(mixed, labels).best_params_["method"] in ("vmtl", "bmtl")


def test_inspection_calibration_and_learning_curves(frame: pd.DataFrame) -> None:
    model = classifier(task_column="site").fit(frame, Y)
    found = permutation_importance(model, frame, Y, n_repeats=2, random_state=0)
    assert found.importances_mean.shape == (7,)
    calibrated = CalibratedClassifierCV(classifier(task_column="site"), cv=CV).fit(frame, Y)
    assert calibrated.predict_proba(frame).shape == (48, 4)
    _, _, scores = learning_curve(classifier(task_column="site"), frame, Y, cv=CV, train_sizes=[0.7, 1.0], shuffle=True)
    assert np.isfinite(scores).all()


def test_features_for_another_model(frame: pd.DataFrame) -> None:
    pipeline = make_pipeline(classifier(task_column="site"), StandardScaler())
    pipeline.set_output(transform="pandas")
    features = pipeline.fit(frame, Y).transform(frame)
    assert features.index.equals(frame.index)
    assert list(features.columns) == list(pipeline.get_feature_names_out())


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_tasks_are_routed_without_being_asked_for() -> None:
    pipeline = make_pipeline(StandardScaler(), classifier())
    pipeline.fit(X, Y, tasks=TASK)
    assert pipeline.predict(X, tasks=TASK).shape == (48,)
    assert pipeline.predict_proba(X, tasks=TASK).shape == (48, 4)
    assert pipeline.score(X, Y, tasks=TASK) > 0.3
    assert np.isfinite(cross_val_score(classifier(), X, Y, cv=CV, params={"tasks": TASK})).all()
    search = GridSearchCV(pipeline, {"multitaskclassifier__relatedness": ["even", "none"]}, cv=CV)
    search.fit(X, Y, tasks=TASK)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.usefixtures("routing")
def test_sample_weights_are_routed_if_they_are_asked_for() -> None:
    estimator = classifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), estimator)
    pipeline.fit(X, Y, tasks=TASK, sample_weight=np.ones(48))
    assert pipeline.predict(X, tasks=TASK).shape == (48,)
