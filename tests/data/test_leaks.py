"""Columns that give the target away are found, and no others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

from vmtl.data.columns import is_constant, looks_like_identifier, numbers_the_rows
from vmtl.data.leaks import find_leaks, tells_target
from vmtl.datasets import load_rotated_digits, load_school


def table(n: int = 200, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["age", "dose", "bmi"])
    real = X["age"].to_numpy() + 0.5 * rng.normal(size=n)
    return X, real, (real > 1).astype(int)


def numbers(column: pd.Series) -> bool:
    return numbers_the_rows(str(column.name), column.to_numpy(dtype=float), tells=False)


def test_leaks_of_every_kind_are_found() -> None:
    X, real, event = table()
    rng = np.random.default_rng(1)
    X["code"] = np.where(event == 1, "E11", rng.choice(["A", "B"], len(event)))
    X["died on"] = np.where(event == 1, "2020-01-01", None)
    X["risk"] = event + 0.01 * rng.normal(size=len(event))
    assert set(find_leaks(X, event, True)) == {"code", "died on", "risk"}
    X["in weeks"] = real / 7
    X["squared"] = np.sign(real) * real**2
    assert {"in weeks"} <= set(find_leaks(X, real, False)) <= {"in weeks", "squared"}


def test_a_leak_of_many_classes_is_found() -> None:
    X, _, _ = table()
    y = np.arange(200) % 6
    leaks = find_leaks(X.assign(level=[f"L{c}" for c in y]), y, True)
    assert list(leaks) == ["level"]
    assert leaks["level"] == 1.0


def test_few_rows_or_a_rare_class_prove_nothing() -> None:
    X, real, _ = table(25)
    assert find_leaks(X.assign(copy=real), real, False) == {}
    X, _, _ = table()
    rare = (np.arange(200) < 3).astype(int)
    assert find_leaks(X.assign(copy=rare), rare, True) == {}


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits", "diabetes"])
def test_no_alarm_on_real_tables(name: str) -> None:
    data = getattr(datasets, f"load_{name}")(as_frame=True)
    assert find_leaks(data.data, data.target.to_numpy(), name != "diabetes") == {}
    assert not any(numbers(data.data[c]) or looks_like_identifier(data.data[c]) for c in data.data)


def test_no_alarm_on_angles() -> None:
    angles = load_rotated_digits()
    assert find_leaks(pd.DataFrame(angles.X), angles.y, False) == {}


def test_no_alarm_on_schools(real_data: Path) -> None:
    school = load_school(real_data / "data" / "school.npz")
    X = pd.DataFrame(school.X).add_prefix("c")
    assert find_leaks(X, school.y, False) == {}
    assert not any(numbers(X[c]) for c in X)


def test_numbers_that_never_repeat_are_identifiers_in_any_order() -> None:
    rng = np.random.default_rng(0)
    patient = pd.Series(rng.permutation(np.arange(1001, 1603)))
    assert numbers(patient)
    assert numbers(patient[:300])  # others were dropped
    assert numbers(patient.astype(float))
    far = pd.Series(rng.choice(10**9, 50, replace=False))
    assert not numbers(far.rename("income"))
    assert all(numbers(far.rename(name)) for name in ("id", "patient_id", "Patient ID", "caseNo", "MRN"))
    assert not any(numbers(far.rename(name)) for name in ("paid", "humid", "piano", "grid"))


def test_a_year_that_recurs_in_every_task_is_no_identifier() -> None:
    years = pd.Series(np.tile(np.arange(2000, 2020), 8), name="x")
    assert not numbers(years)


@pytest.mark.parametrize("seed", range(20))
def test_measurements_in_whole_numbers_are_no_identifiers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for values in (rng.integers(0, 1000, 100), rng.poisson(200, 100), np.exp(rng.normal(10, 2, 100)).astype(int)):
        assert not numbers(pd.Series(values))


def test_a_column_that_follows_the_target_tells_something() -> None:
    rng = np.random.default_rng(0)
    task, order = np.arange(200) % 4, np.arange(200.0)
    levels = 100.0 * task
    assert tells_target(order, levels + 0.02 * order + rng.normal(size=200), task, False)
    assert tells_target(order, (np.abs(order - 100) + rng.normal(scale=20, size=200) > 50).astype(int), task, True)
    noise = [tells_target(order, levels + rng.normal(size=200), task, False) for _ in range(100)]
    assert np.mean(noise) < 0.15
    assert not tells_target(np.full(200, np.nan), levels, task, False)
    assert not tells_target(order, levels, task, False)
    of_tasks = (task >= 2).astype(int)  # the classes of tasks, in files that are sorted by task
    assert not tells_target(np.sort(task) * 100.0 + np.arange(200), np.sort(of_tasks), np.sort(task), True)


def test_constants() -> None:
    assert is_constant(pd.Series([1, 1, 1]))
    assert is_constant(pd.Series([None, None]))
    assert not is_constant(pd.Series([1, None]))
    assert not is_constant(pd.Series([1]))
