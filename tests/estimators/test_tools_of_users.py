"""With what users have around the estimators: pandas, pipelines, searches, metadata routing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers.three_tasks import TASK, X, Y, classifier
from vmtl import MultiTaskClassifier

pytestmark = pytest.mark.usefixtures("inference")


def test_pandas_in_and_out(frame: pd.DataFrame, clf: MultiTaskClassifier) -> None:
    table = frame.drop(columns="site")
    model = classifier().fit(table, pd.Series(Y, index=frame.index), tasks=frame["site"])
    assert list(model.feature_names_in_) == list(table.columns)
    np.testing.assert_allclose(
        model.predict_proba(table, tasks=frame["site"]), clf.predict_proba(X, tasks=TASK), atol=1e-6
    )
    assert model.uncertainty(table, tasks=frame["site"]).index.equals(frame.index)
    mixed = table[table.columns[::-1]].assign(extra="text")
    np.testing.assert_array_equal(
        model.predict_proba(mixed, tasks=frame["site"]), model.predict_proba(table, tasks=frame["site"])
    )
    with pytest.raises(ValueError, match=r"X lacks .*, which the model was fitted on; add it"):
        model.predict(table[table.columns[1:]], tasks=frame["site"])


def test_task_column(frame: pd.DataFrame, clf: MultiTaskClassifier, tmp_path: Path) -> None:
    model = classifier(task_column="site").fit(frame, Y)
    assert model.n_features_in_ == 6
    expected = clf.predict_proba(X, tasks=TASK)
    np.testing.assert_allclose(model.predict_proba(frame), expected, atol=1e-6)
    assert model.score_tasks(frame, Y).equals(clf.score_tasks(X, Y, tasks=TASK))
    model.save(tmp_path / "m.vmtl")
    np.testing.assert_allclose(MultiTaskClassifier.load(tmp_path / "m.vmtl").predict_proba(frame), expected, atol=1e-6)
    moved = model.predict_proba(frame, tasks=np.full(48, "west"))
    np.testing.assert_allclose(moved, clf.predict_proba(X, tasks=np.full(48, "west")), atol=1e-6)


@pytest.fixture
def routing() -> Any:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_metadata_routing_through_a_pipeline_and_a_search() -> None:
    estimator = classifier(max_steps=5).set_fit_request(tasks=True, sample_weight=True)
    estimator = estimator.set_predict_request(tasks=True).set_score_request(tasks=True, sample_weight=True)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), estimator)
    pipeline.fit(X, Y, tasks=TASK, sample_weight=np.ones(48))
    assert pipeline.predict(X, tasks=TASK).shape == (48,)
    assert pipeline.score(X, Y, tasks=TASK) > 0.3
    search = GridSearchCV(
        pipeline, {"multitaskclassifier__sharing": [0.0, 0.9]}, cv=KFold(2, shuffle=True, random_state=0)
    )
    search.fit(X, Y, tasks=TASK)
    assert set(search.best_params_) == {"multitaskclassifier__sharing"}
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_pipelines_and_searches_without_routing_by_a_task_column(frame: pd.DataFrame) -> None:
    scaler = ColumnTransformer([("scaled", StandardScaler(), [f"f{j}" for j in range(6)])], remainder="passthrough")
    scaler.set_output(transform="pandas")
    pipeline = make_pipeline(scaler, classifier(task_column="remainder__site", max_steps=5))
    scores = cross_val_score(pipeline, frame, Y, cv=KFold(2, shuffle=True, random_state=0))
    assert np.isfinite(scores).all()
    search = GridSearchCV(classifier(task_column="site", max_steps=3), {"method": ["vmtl", "bmtl"]}, cv=2)
    assert search.fit(frame.sample(frac=1, random_state=0), Y[frame.sample(frac=1, random_state=0).index - 100])
