"""Every awkward y, tasks or sample_weight works or raises its documented error; nothing else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from helpers.bad_inputs import Case, dates, run
from helpers.reliable import Toy
from vmtl import MultiTaskClassifier, MultiTaskRegressor

LONG_NAME = "task " * 20_000


TASK_CASES: dict[str, Case] = {
    "none": Case(lambda toy: {"tasks": None}),
    "one row each": Case(lambda toy: {"tasks": np.arange(len(toy.X))}),
    "one row in one": Case(lambda toy: {"tasks": np.where(np.arange(len(toy.X)) == 0, "a", "b")}),
    "unicode": Case(lambda toy: {"tasks": np.where(toy.tasks == "west", "西 \u202e🏥\n", "été")}),
    "a very long name": Case(lambda toy: {"tasks": np.where(toy.tasks == "west", LONG_NAME, "b")}),
    "formula and path": Case(lambda toy: {"tasks": np.where(toy.tasks == "west", "=cmd|'/c calc'!A0", "../../etc")}),
    "empty text": Case(lambda toy: {"tasks": np.where(toy.tasks == "west", "", "b")}),
    "numbers": Case(lambda toy: {"tasks": (toy.tasks == "west").astype(float)}),
    "mixed types": Case(lambda toy: {"tasks": [1 if name == "west" else name for name in toy.tasks]}),
    "tuples": Case(lambda toy: {"tasks": [(name, 1) for name in toy.tasks]}),
    "dates": Case(lambda toy: {"tasks": np.where(toy.tasks == "west", "2024-01-01", "2024-01-02").astype("M8[D]")}),
    "int64 extremes": Case(lambda toy: {"tasks": np.where(toy.tasks == "west", -(2**63), 2**63 - 1)}),
    "categories": Case(lambda toy: {"tasks": pd.Series(pd.Categorical(toy.tasks))}),
    "an empty category": Case(
        lambda toy: {"tasks": pd.Series(pd.Categorical(toy.tasks, [*np.unique(toy.tasks), "z"]))}, "'z' has no rows"
    ),
    "weights that empty a task": Case(
        lambda toy: {"sample_weight": (toy.tasks != "west").astype(float)}, "'west' has no rows with a positive"
    ),
    "too few": Case(lambda toy: {"tasks": toy.tasks[:-1]}, "tasks has 89 labels but X has 90 rows"),
    "two dimensions": Case(lambda toy: {"tasks": toy.tasks[:, None]}, "one label per row"),
    "a word": Case(lambda toy: {"tasks": "west"}),
    "a number": Case(lambda toy: {"tasks": 3}),
    "missing label": Case(lambda toy: {"tasks": [None, *toy.tasks[1:]]}, "missing label"),
    "NaN label": Case(lambda toy: {"tasks": [np.nan, *range(len(toy.X) - 1)]}, "missing label"),
    "lists": Case(lambda toy: {"tasks": [[name] for name in toy.tasks]}, "hashable"),
}


WEIGHT_CASES: dict[str, Case] = {
    "negative": Case(lambda toy: {"sample_weight": -np.ones(len(toy.X))}, "[Nn]egative"),
    "NaN": Case(lambda toy: {"sample_weight": np.full(len(toy.X), np.nan)}, "NaN"),
    "all zero": Case(lambda toy: {"sample_weight": np.zeros(len(toy.X))}, "at least one non-zero"),
    "too few": Case(lambda toy: {"sample_weight": np.ones(3)}, "shape"),
    "a number": Case(lambda toy: {"sample_weight": 2.0}),
    "spread": Case(lambda toy: {"sample_weight": np.geomspace(1e-6, 1e6, len(toy.X))}),
}


LABEL_CASES: dict[str, Case] = {
    "one class": Case(lambda toy: {"y": np.zeros(len(toy.X), dtype=int)}),
    "a class of one row": Case(lambda toy: {"y": (np.arange(len(toy.X)) == 0).astype(int)}),
    "a class in one task only": Case(lambda toy: {"y": np.where(toy.tasks == "west", toy.labels, "low")}),
    "booleans": Case(lambda toy: {"y": toy.values > 0}),
    "negative numbers": Case(lambda toy: {"y": np.where(toy.values > 0, -7, 2**40)}),
    "numbers as text": Case(lambda toy: {"y": np.where(toy.values > 0, "10", "9")}),
    "unicode": Case(lambda toy: {"y": np.where(toy.values > 0, "ß\n", "漢" * 3000)}),
    "objects": Case(lambda toy: {"y": toy.labels.astype(object)}),
    "continuous": Case(lambda toy: {"y": toy.values}, "Unknown label type"),
    "missing text": Case(lambda toy: {"y": np.where(toy.values > 0, "a", None)}, "y contains a missing label"),
    "NaN": Case(lambda toy: {"y": np.where(toy.values > 0, 1.0, np.nan)}, "NaN"),
    "mixed types": Case(lambda toy: {"y": np.array([1, *toy.labels[1:]], dtype=object)}, "mixes text and numbers"),
    "dates": Case(lambda toy: {"y": np.where(toy.values > 0, "2024-01-01", "2024-01-02").astype("M8[D]")}),
    "two columns": Case(lambda toy: {"y": np.column_stack([toy.labels, toy.labels])}, "."),
    "too few": Case(lambda toy: {"y": toy.labels[:-1]}, "inconsistent numbers of samples"),
    "missing": Case(lambda toy: {"y": None}, "y"),
    "sparse": Case(lambda toy: {"y": sparse.csr_matrix(np.eye(len(toy.X)))}, "[Ss]parse", kind=TypeError),
}


TARGET_CASES: dict[str, Case] = {
    "constant": Case(lambda toy: {"y": np.full(len(toy.X), 5.0)}),
    "integers": Case(lambda toy: {"y": np.arange(len(toy.X))}),
    "large": Case(lambda toy: {"y": 1e60 * toy.values}),
    "too large": Case(lambda toy: {"y": 1e300 * toy.values}, "use a larger unit"),
    "tiny": Case(lambda toy: {"y": 1e-60 * toy.values}),
    "a large offset": Case(lambda toy: {"y": 1e12 + toy.values}),
    "NaN": Case(lambda toy: {"y": np.where(toy.values > 0, 1.0, np.nan)}, "NaN"),
    "infinity": Case(lambda toy: {"y": np.where(toy.values > 0, 1.0, np.inf)}, "inf"),
    "text": Case(lambda toy: {"y": toy.labels}, "use MultiTaskClassifier"),
    "numbers as text": Case(lambda toy: {"y": np.where(toy.values > 0, "1", "2")}, "."),
    "two columns": Case(lambda toy: {"y": np.column_stack([toy.values, toy.values])}, "one target per row"),
    "dates": Case(lambda toy: {"y": np.asarray(dates(toy))}, "y holds dates"),
    "complex": Case(lambda toy: {"y": toy.values + 1j}, "Complex"),
    "missing": Case(lambda toy: {"y": None}, "y"),
}


@pytest.mark.parametrize("name", TASK_CASES)
def test_tasks(name: str, toy: Toy) -> None:
    run(MultiTaskClassifier, TASK_CASES[name], toy)


@pytest.mark.parametrize("name", WEIGHT_CASES)
def test_weights(name: str, toy: Toy) -> None:
    run(MultiTaskRegressor, WEIGHT_CASES[name], toy)


@pytest.mark.parametrize("name", LABEL_CASES)
def test_labels(name: str, toy: Toy) -> None:
    run(MultiTaskClassifier, LABEL_CASES[name], toy)


@pytest.mark.parametrize("name", TARGET_CASES)
def test_targets(name: str, toy: Toy) -> None:
    run(MultiTaskRegressor, TARGET_CASES[name], toy)
