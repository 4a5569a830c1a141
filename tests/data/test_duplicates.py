"""Rows that are equal, recognised by a digest."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from vmtl.data.duplicates import duplicate_groups, merge_duplicates, row_digests
from vmtl.data.rows import Rows


def by_hand(rows: list[object]) -> list[int]:
    """The number of each row's first copy among the distinct ones."""
    distinct = list(dict.fromkeys(map(repr, rows)))
    return [distinct.index(repr(row)) for row in rows]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, bool])
def test_groups_are_those_of_a_naive_comparison(dtype: type) -> None:
    X = np.random.default_rng(0).integers(0, 2, (60, 4)).astype(dtype)
    assert duplicate_groups(X).tolist() == by_hand(X.tolist())


def test_equal_rows_of_objects_share_a_group_however_far_apart() -> None:
    X = np.array([["a", 1], ["b", None], *([["a much longer text", 2]] * 5000), ["a", 1]], dtype=object)
    groups = duplicate_groups(X)
    assert groups[0] == groups[-1]
    assert groups.max() == 2


def test_cells_do_not_run_into_each_other() -> None:
    assert duplicate_groups(np.array([["ab", "c"], ["a", "bc"]], dtype=object)).tolist() == [0, 1]


def test_zero_has_no_sign() -> None:
    assert duplicate_groups(np.array([[0.0], [-0.0], [1.0]])).tolist() == [0, 0, 1]


def test_tables_are_compared_by_their_columns() -> None:
    table = pd.DataFrame({"a": [1, 2, 1], "b": ["x", "x", "x"]}, index=[7, 8, 9])
    groups = duplicate_groups(table)
    assert groups[0] == groups[2] != groups[1]


def test_digests_are_of_all_columns() -> None:
    x, y = np.zeros((3, 2)), np.array([0, 0, 1])
    first, second, third = row_digests(x, y)
    assert first == second != third


def test_a_row_twice_is_a_row_of_weight_two() -> None:
    rows = Rows(
        x=torch.tensor([[1.0], [2.0], [1.0], [1.0], [5.0]]),
        y=torch.tensor([0, 0, 0, 1, 1]),
        task=torch.tensor([0, 0, 0, 0, 1]),
        weight=torch.tensor([1.0, 1.0, 2.0, 1.0, 0.0]),
        n_tasks=2,
        n_classes=2,
        is_classification=True,
    )
    merged = merge_duplicates(rows)
    assert merged.x.flatten().tolist() == [1.0, 2.0, 1.0]
    assert merged.y.tolist() == [0, 0, 1]
    assert merged.weight.tolist() == [3.0, 1.0, 1.0]
