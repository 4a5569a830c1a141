"""The column of X that holds the task of each row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from vmtl.estimators.inputs.task_column import check_task_column, has_task_column, split_task_column

FRAME = pd.DataFrame({"a": [1.0, 2.0], "site": ["x", "y"], "b": [3.0, 4.0]})


@pytest.mark.parametrize("column", ["site", 1, -2, np.int64(1)])
def test_a_frame_is_split_by_name_or_position(column: object) -> None:
    rest, tasks = split_task_column(FRAME, column)
    assert list(rest.columns) == ["a", "b"]
    assert tasks.tolist() == ["x", "y"]


def test_names_come_before_positions() -> None:
    frame = pd.DataFrame([[5, 6, 7]], columns=[2, 0, 1])
    assert split_task_column(frame, 0)[1].tolist() == [6]


def test_arrays_and_lists_are_split_by_position() -> None:
    rest, tasks = split_task_column(np.arange(6.0).reshape(2, 3), 0)
    assert rest.tolist() == [[1, 2], [4, 5]]
    assert tasks.tolist() == [0, 3]
    rest, tasks = split_task_column([[1.5, "x"], [2.5, "y"]], 1)
    assert rest.astype(float).tolist() == [[1.5], [2.5]]
    assert tasks.tolist() == ["x", "y"]


def test_whether_the_column_is_still_there() -> None:
    assert has_task_column(FRAME, "site", 2)
    assert not has_task_column(FRAME.drop(columns="site"), "site", 2)
    assert has_task_column(FRAME, 1, 2)
    assert not has_task_column(np.zeros((2, 2)), 1, 2)
    assert has_task_column(np.zeros((2, 3)), 1, None)


@pytest.mark.parametrize(
    ("X", "column", "sentence"),
    [
        (FRAME, "town", "task_column='town' is not a column of X; its columns are 'a', 'site', 'b'"),
        (FRAME, 3, "task_column=3 is not a column of X, which has 3"),
        (np.zeros((2, 2)), "site", "needs X to be a DataFrame; pass tasks=... instead, or the position"),
        (np.zeros((2, 2)), True, "task_column=True needs X to be a DataFrame"),
        (sparse.csr_matrix(np.eye(2)), 0, "needs X to be a DataFrame or an array"),
        (np.zeros(2), 0, "X must be a table of rows and columns"),
    ],
)
def test_what_is_no_column_is_said(X: object, column: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        split_task_column(X, column)


def test_a_column_has_a_name_or_a_position() -> None:
    check_task_column(None)
    check_task_column("site")
    with pytest.raises(ValueError, match="task_column must be the name or the position of a column"):
        check_task_column(["site"])
