"""What a record holds of a fitted model beside its scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.paper.run.data import prepare
from benchmarks.paper.run.execute import execute
from benchmarks.paper.run.job import Job

JOB = Job(
    "digits-domains",
    5.0,
    "bmtl",
    0,
    candidates=({"encoder": "linear", "max_steps": 30},),
    measure=("correct", "classifiers"),
    smoke=True,
)


def test_the_bits_of_the_rows_add_up_to_the_accuracy() -> None:
    record = execute(JOB, None, None)
    for name, scores in record["tasks"].items():
        packed = np.frombuffer(bytes.fromhex(record["extras"]["correct"][name]), dtype=np.uint8)
        right = np.unpackbits(packed)[: scores["n_test"]]
        assert right.mean() == pytest.approx(scores["accuracy"])
        assert 0 < right.sum() < scores["n_test"]


def test_classifiers_of_a_pooled_model_are_one() -> None:
    apart, pooled = (execute(replace(JOB, method=method), None, None) for method in ("bmtl", "pooled"))
    n_test = prepare(JOB, None, None).test.n_rows
    assert apart["extras"]["classifiers"]["spread"] > 0.1
    assert 0 < apart["extras"]["classifiers"]["changed"] < n_test
    assert pooled["extras"]["classifiers"] == {"spread": 0.0, "changed": 0}


@pytest.mark.parametrize("name", ["correct", "classifiers"])
def test_labels_are_asked_of_a_classifier_only(name: str) -> None:
    job = Job("rotated-digits", 5.0, "bmtl", 0, candidates=({"max_steps": 2},), measure=(name,), smoke=True)
    with pytest.raises(ValueError, match="classification problem"):
        execute(job, None, None)
