"""How an estimator reads rows: any kind of X, part by part."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from helpers.toys import toy
from vmtl import MultiTaskClassifier
from vmtl.estimators.inputs import feature_table

DATA = toy([8, 9, 7], classes=3)


def fitted(X: object) -> MultiTaskClassifier:
    return MultiTaskClassifier(random_state=0).fit(X, DATA.y, tasks=DATA.task)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csc_array, pd.DataFrame, list])
def test_every_kind_of_x_gives_the_same_prediction(kind: type) -> None:
    X = np.asarray(DATA.X, dtype=np.float64)
    expected = fitted(X).predict_proba(X, tasks=DATA.task)
    given = kind(X)
    np.testing.assert_array_equal(fitted(given).predict_proba(given, tasks=DATA.task), expected)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, pd.DataFrame])
def test_parts_are_put_together_in_order(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.tile(np.asarray(DATA.X, dtype=np.float64), (100, 1))
    tasks = np.tile(DATA.task, 100)
    model = fitted(kind(np.asarray(DATA.X, dtype=np.float64)))
    whole = model.predict_proba(kind(X), tasks=tasks)
    monkeypatch.setattr(feature_table, "PART_CELLS", 1)
    assert len(feature_table.row_slices(X)) > 1
    # A probability is promised to 1e-5, wherever its row stands.
    np.testing.assert_allclose(model.predict_proba(kind(X), tasks=tasks), whole, rtol=0, atol=1e-5)


def test_text_and_gaps_are_encoded_as_in_training() -> None:
    table = pd.DataFrame({"a": DATA.X[:, 0], "b": np.where(DATA.y == 0, "x", "y")})
    model = fitted(table)
    assert model.preprocessor_ is not None
    assert model.preprocessor_.feature_names_in_ == ["a", "b"]
    turned = table[["b", "a"]].assign(further=1)
    np.testing.assert_array_equal(
        model.predict_proba(turned, tasks=DATA.task), model.predict_proba(table, tasks=DATA.task)
    )


def test_the_task_column_is_no_feature() -> None:
    table = pd.DataFrame(DATA.X).rename(columns=str).assign(site=DATA.task)
    model = MultiTaskClassifier(task_column="site", random_state=0).fit(table, DATA.y)
    assert "site" not in model.feature_names_in_
    np.testing.assert_array_equal(model.predict(table), model.predict(table.drop(columns="site"), tasks=DATA.task))


def test_wrong_number_of_features() -> None:
    with pytest.raises(ValueError, match="X has 5 features, but MultiTaskClassifier is expecting 6 features"):
        fitted(DATA.X).predict(DATA.X[:, :5], tasks=DATA.task)
