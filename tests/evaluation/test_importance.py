"""What columns are worth: against a loop by hand, and on a table whose truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from helpers.report_models import Case
from helpers.tables import make_table
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl.evaluation import Importance, column_importance
from vmtl.evaluation import importance as module


@pytest.fixture(scope="module", params=["outcome", "days"])
def explained(request: pytest.FixtureRequest) -> tuple[Any, pd.DataFrame, pd.Series, Importance]:
    train, test = make_table(120, 0), make_table(300, 1)
    test.loc[::7, "ward"] = None
    estimator = MultiTaskClassifier if request.param == "outcome" else MultiTaskRegressor
    model = estimator(task_column="site", missing="impute", random_state=0)
    features = ["age", "dose", "bmi", "ward", "site"]
    model.fit(train[features], train[request.param])
    return model, test[features], test[request.param], column_importance(model, test[features], test[request.param])


def test_columns_have_their_own_names_and_the_order_of_the_truth(explained: tuple[Any, ...]) -> None:
    importance = explained[-1]
    assert importance.columns == ("age", "dose", "ward", "bmi")
    assert importance.tasks == ("north", "south", "west")
    by_name = dict(zip(importance.columns, importance.overall, strict=True))
    assert by_name["ward"].low > 0
    assert by_name["bmi"].value < 0.2 * by_name["ward"].value
    table = importance.table()
    assert list(table.columns) == ["column", "task", "importance", "low", "high"]
    assert len(table) == 4 * (1 + 3)
    assert (table["low"] <= table["importance"]).all()


def test_it_is_the_fall_of_the_log_likelihood(explained: tuple[Any, ...]) -> None:
    """The same shuffle by hand: a whole raw column moved between rows of one task."""
    model, X, y, importance = explained
    if not isinstance(model, MultiTaskClassifier):
        pytest.skip("probabilities are easier to check by hand")
    codes = np.searchsorted(model.tasks_, X["site"])
    kept = np.random.default_rng(0).permutation(len(X))
    rng, X, y, codes = np.random.default_rng(1), X.iloc[kept], y.to_numpy()[kept], codes[kept]
    label = np.searchsorted(model.classes_, y)

    def log_p(table: pd.DataFrame) -> np.ndarray:
        return np.log(model.predict_proba(table)[np.arange(len(table)), label])

    drops = []
    for _ in range(5):
        donor = module._shuffle_within(codes, rng)
        assert (codes[donor] == codes).all()
        drops.append(log_p(X) - log_p(X.assign(ward=X["ward"].to_numpy()[donor])))
    by_name = dict(zip(importance.columns, importance.overall, strict=True))
    assert by_name["ward"].value == pytest.approx(np.mean(drops), abs=1e-4)  # float32 predictions


def test_without_labels_it_is_the_change_of_predictions(explained: tuple[Any, ...]) -> None:
    model, X, _, _ = explained
    importance = column_importance(model, X, repeats=2)
    assert importance.columns[0] == "age"
    assert "change" in importance.unit
    assert all(worth.value >= 0 for worth in importance.overall)


def test_of_many_columns_the_promising_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, tasks = rng.normal(size=(150, 60)).astype(np.float32), np.arange(150) % 3
    y = (X[:, 41] + 0.5 * X[:, 7] > 0).astype(int)
    model = MultiTaskClassifier(random_state=0).fit(X[:100], y[:100], tasks=tasks[:100])
    monkeypatch.setattr(module, "MOST_COLUMNS", 5)
    seen: list[str] = []
    importance = column_importance(model, X[100:], y[100:], tasks[100:], repeats=2, done=seen.append)
    assert importance.columns[0] == "x41"
    assert len(importance.columns) == 5
    assert importance.n_columns == 60
    assert len(seen) < 60


def test_arrays_and_bad_input(class_case: Case) -> None:
    test, model = class_case.test, class_case.model
    importance = column_importance(model, test.X, test.y, test.tasks, repeats=1)
    assert set(importance.columns[:2]) == {"x0", "x1"}
    with pytest.raises(ValueError, match="repeats is 0"):
        column_importance(model, test.X, test.y, test.tasks, repeats=0)
    with pytest.raises(ValueError, match="y has 3 targets but X has 150 rows"):
        column_importance(model, test.X, test.y[:3], test.tasks)
    with pytest.raises(ValueError, match="class 'x', which the model never saw"):
        column_importance(model, test.X, np.full(150, "x"), test.tasks)
