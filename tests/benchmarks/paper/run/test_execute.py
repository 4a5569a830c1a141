"""One job to one record."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.paper.run.execute import average, execute, rounded
from benchmarks.paper.run.job import Job
from benchmarks.paper.run.records import comparable
from vmtl.paper.training.training import DivergenceError

JOB = Job("digits-domains", 5.0, "bmtl", 0, candidates=({"encoder": "linear", "max_steps": 4},), smoke=True)


def test_a_record_is_strict_json_with_scores_of_every_task() -> None:
    record = execute(replace(JOB, measure=("history", "mixing")), None, None)
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["status"] == "done"
    assert set(record["tasks"]) == {"tilt_0", "tilt_20", "tilt_40", "tilt_60"}
    mean = np.mean([scores["accuracy"] for scores in record["tasks"].values()])
    assert record["average"]["accuracy"] == pytest.approx(mean)
    assert len(record["extras"]["history"]["step"]) == len(record["extras"]["history"]["nll"]) <= 4
    assert record["extras"]["mixing"]["tasks"] == sorted(record["tasks"])


def test_a_job_gives_the_same_record_again() -> None:
    assert comparable(execute(JOB, None, None)) == comparable(execute(JOB, None, None))


def test_a_reference_says_what_cross_validation_chose() -> None:
    record = execute(replace(JOB, method="pooled_linear", candidates=({},)), None, None)
    assert set(record["selection"]["cross_validated"]) == {"C", "scaling"}
    assert record["extras"] == {}


def test_a_fit_that_diverges_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def diverge(*arguments: object) -> None:
        raise DivergenceError(3, "nll", None)

    monkeypatch.setattr("benchmarks.paper.run.execute.fit_and_predict", diverge)
    record = execute(JOB, None, None)
    assert record["status"] == "diverged"
    assert (record["tasks"], record["average"]) == ({}, {})


def test_an_average_is_over_the_tasks_that_have_the_score() -> None:
    tasks = {"a": {"accuracy": 0.5, "n_test": 3}, "b": {"accuracy": 1.0, "entropy_ratio": math.nan}, "c": {}}
    assert average(tasks) == {"accuracy": 0.75}


def test_numbers_of_a_record_are_short() -> None:
    assert rounded({"a": [1 / 3, 2], "b": {"c": 1234567.89, "d": None, "e": True}}) == {
        "a": [0.3333333, 2],
        "b": {"c": 1234568.0, "d": None, "e": True},
    }
