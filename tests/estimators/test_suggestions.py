"""``suggest``: what users ask for and what they are told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from helpers.tables import make_table
from vmtl import MultiTaskClassifier, MultiTaskRegressor

COLUMNS = ["age", "dose", "bmi", "ward"]


@pytest.fixture(scope="module")
def pool() -> pd.DataFrame:
    return make_table(80, 5)


@pytest.fixture(scope="module", params=["outcome", "days"])
def model(request: pytest.FixtureRequest) -> MultiTaskClassifier | MultiTaskRegressor:
    kind = MultiTaskClassifier if request.param == "outcome" else MultiTaskRegressor
    train = make_table(60, 0)
    fitted = kind(missing="impute", random_state=0)
    return fitted.fit(train[COLUMNS], train[request.param], tasks=train["site"])


def test_rows_are_different_and_a_longer_list_begins_alike(
    model: MultiTaskClassifier | MultiTaskRegressor, pool: pd.DataFrame
) -> None:
    many = model.suggest(pool[COLUMNS], pool["site"], 20)
    assert many.dtype == np.int64
    assert len(set(many)) == 20
    np.testing.assert_array_equal(model.suggest(pool[COLUMNS], pool["site"], 5), many[:5])
    doubled = pd.concat([pool, pool], ignore_index=True)
    chosen = model.suggest(doubled[COLUMNS], doubled["site"], 20)
    assert len(set(chosen % 80)) == 20


def test_one_task_is_chosen_among_its_rows(model: MultiTaskClassifier | MultiTaskRegressor, pool: pd.DataFrame) -> None:
    chosen = model.suggest(pool[COLUMNS], pool["site"], 6, task="south")
    assert set(pool["site"].iloc[chosen]) == {"south"}
    alone = pool[pool["site"] == "south"]
    again = model.suggest(alone[COLUMNS], alone["site"], 6)
    np.testing.assert_array_equal(alone.index[again], chosen)


def test_what_cannot_be_chosen_is_said(model: MultiTaskClassifier | MultiTaskRegressor, pool: pd.DataFrame) -> None:
    X, tasks = pool[COLUMNS], pool["site"]
    for arguments, options, sentence in (
        ((X, tasks, 0), {}, "n is 0; ask for one row or more."),
        ((X, tasks, 2.5), {}, "n is 2.5; ask for one row or more."),
        ((X, tasks, 81), {}, "n is 81, but there are 80 different rows to choose from."),
        ((X, tasks, 3), {"task": "sout"}, r"Unknown task 'sout' \(did you mean 'south'\?\); the model knows"),
        ((X[tasks == "west"], tasks[tasks == "west"], 3), {"task": "south"}, "X has no rows of task 'south'"),
        ((X, ["north"] * 79 + ["east"], 3), {}, "Unknown task 'east'"),
    ):
        with pytest.raises(ValueError, match=sentence):
            model.suggest(*arguments, **options)
