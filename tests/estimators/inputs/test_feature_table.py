"""X as users have it: what no model can read is refused by the name of its column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from helpers.small_fits import TASKS, X, Y, small, spoiled
from vmtl import MultiTaskClassifier


@pytest.fixture(scope="module")
def model() -> MultiTaskClassifier:
    return small().fit(X, Y, tasks=TASKS)


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf")])
def test_nan_and_infinity_name_their_column(value: float, word: str, model: MultiTaskClassifier) -> None:
    with pytest.raises(ValueError, match=f"X contains {word}.* in column 3; re(move|place)") as caught:
        small().fit(spoiled(value), Y, tasks=TASKS)
    assert "\n" not in str(caught.value)
    frame = pd.DataFrame(spoiled(value), columns=list("abcdef"))
    with pytest.raises(ValueError, match=f"X contains {word}.* in column 'd'"):
        small().fit(frame, Y, tasks=TASKS)
    with pytest.raises(ValueError, match="column 3"):
        model.predict(spoiled(value), tasks=TASKS)


def test_two_bad_columns_are_counted() -> None:
    bad = spoiled(np.nan)
    bad[0, 5] = np.inf
    with pytest.raises(ValueError, match="in column 3 and 1 more"):
        small().fit(bad, Y, tasks=TASKS)


def test_a_missing_task_column_lists_the_columns() -> None:
    with pytest.raises(ValueError, match="task_column='site' is not a column of X; its columns are 'a', 'b'"):
        small(task_column="site").fit(pd.DataFrame(X, columns=list("abcdef")), Y)
