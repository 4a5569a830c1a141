"""What is kept of the training rows tells whether new rows have drifted."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from vmtl._utils.json_values import to_json
from vmtl.data.column_profiles import LEAST_ROWS, TableProfile, drift, moved_means
from vmtl.data.column_types import column_formats

NAMES = ("a", "b", "c")


def rows(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    task = rng.integers(0, 3, n)
    table = pd.DataFrame({"x": rng.normal(size=n) + 5 * task, "count": rng.poisson(0.3, n), "nothing": np.nan})
    table["day"] = (pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 100, n), "D")).astype(str)
    table["ward"] = rng.choice(["u", "v", "w"], n)
    table.loc[::10, "x"] = np.nan
    return table, task


@pytest.fixture
def known() -> TableProfile:
    table, task = rows(600, 0)
    profile = TableProfile.of(table, column_formats(table), task, NAMES)
    return TableProfile.from_json(json.loads(json.dumps(to_json(profile.to_json()))))


def test_counts_are_of_all_rows(known: TableProfile) -> None:
    assert all(sum(column.counts) == 600 for column in known.columns.values())
    assert known.columns["x"].counts[-1] == 60
    assert sum(known.rows.values()) == 600
    assert known.columns["x"].spread == pytest.approx(1, abs=0.1)


def test_the_same_rows_have_not_drifted(known: TableProfile) -> None:
    for seed in range(1, 6):
        table, task = rows(400, seed)
        assert not any(drift(known.columns[name], table[name]).has_shifted(5) for name in table)
        assert moved_means(known, table, task, NAMES) == []


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("x", lambda column: column + 4),
        ("x", lambda column: column.where(np.arange(len(column)) % 2 == 0)),
        ("count", lambda column: column + 1),
        ("day", lambda column: column.str.replace("2024", "2028")),
        ("ward", lambda column: column.replace("u", "new")),
        ("ward", lambda column: column.replace("u", "v")),
    ],
)
def test_shifts_gaps_and_new_levels_are_found(known: TableProfile, name: str, change: object) -> None:
    table, _ = rows(400, 1)
    found = drift(known.columns[name], change(table[name]))  # type: ignore[operator]
    assert found.has_shifted(5)
    assert found.index > 0.25


def test_one_task_that_moved_is_named(known: TableProfile) -> None:
    table, task = rows(300, 1)
    table.loc[task == 2, "x"] += 1.5
    (found,) = moved_means(known, table, task, NAMES)
    assert (found.task, found.column) == ("c", "x")
    assert found.deviations == pytest.approx(1.5, abs=0.3)


def test_nothing_is_kept_of_tasks_with_few_rows() -> None:
    table, _ = rows(100, 0)
    task = np.array([0] * (100 - LEAST_ROWS + 1) + [1] * (LEAST_ROWS - 1))
    assert set(TableProfile.of(table, column_formats(table), task, ("many", "few")).means) == {"many"}
