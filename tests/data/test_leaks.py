"""Columns that give the target away are found, and no others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

from vmtl.data.columns import is_constant, looks_like_identifier, numbers_the_rows
from vmtl.data.leaks import find_leaks
from vmtl.datasets import load_rotated_digits, load_school


def table(n: int = 200, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["age", "dose", "bmi"])
    real = X["age"].to_numpy() + 0.5 * rng.normal(size=n)
    return X, real, (real > 1).astype(int)


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
    assert not any(numbers_the_rows(data.data[c]) or looks_like_identifier(data.data[c]) for c in data.data)


def test_no_alarm_on_angles() -> None:
    angles = load_rotated_digits()
    assert find_leaks(pd.DataFrame(angles.X), angles.y, False) == {}


def test_no_alarm_on_schools(real_data: Path) -> None:
    school = load_school(real_data / "data" / "school.npz")
    X = pd.DataFrame(school.X).add_prefix("c")
    assert find_leaks(X, school.y, False) == {}
    assert not any(numbers_the_rows(X[c], school.task) for c in X)


def test_numbers_that_never_repeat_are_identifiers_in_any_order() -> None:
    rng = np.random.default_rng(0)
    patient = pd.Series(rng.permutation(np.arange(1001, 1603)))
    assert numbers_the_rows(patient)
    assert numbers_the_rows(patient[:300])  # others were dropped
    assert numbers_the_rows(patient.astype(float))
    task = np.repeat(np.arange(20), 15)
    restarts = pd.Series(np.concatenate([rng.permutation(15) + 1 for _ in range(20)]))
    assert numbers_the_rows(restarts, task)
    assert not numbers_the_rows(restarts)
    far = pd.Series(rng.choice(10**9, 50, replace=False))
    assert not numbers_the_rows(far.rename("income"))
    assert all(numbers_the_rows(far.rename(name)) for name in ("id", "patient_id", "Patient ID", "caseNo", "MRN"))
    assert not any(numbers_the_rows(far.rename(name)) for name in ("paid", "humid", "piano", "grid"))


@pytest.mark.parametrize("seed", range(20))
def test_measurements_in_whole_numbers_are_no_identifiers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for values in (rng.integers(0, 1000, 100), rng.poisson(200, 100), np.exp(rng.normal(10, 2, 100)).astype(int)):
        assert not numbers_the_rows(pd.Series(values), np.arange(100) % 5)


def test_constants() -> None:
    assert is_constant(pd.Series([1, 1, 1]))
    assert is_constant(pd.Series([None, None]))
    assert not is_constant(pd.Series([1, None]))
    assert not is_constant(pd.Series([1]))
