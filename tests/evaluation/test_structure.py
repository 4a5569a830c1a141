"""What the structure that a model found is worth to its training rows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers.report_models import Case
from vmtl import MultiTaskClassifier
from vmtl.evaluation import structure_worth_of


@pytest.mark.parametrize("case", ["class_case", "real_case"])
def test_four_structures_in_nats_per_row(case: str, request: pytest.FixtureRequest) -> None:
    fitted: Case = request.getfixturevalue(case)
    worth = structure_worth_of(fitted.model, fitted.train)
    assert worth is not None
    assert list(worth) == ["inferred", "even", "alone", "pooled"]
    assert all(math.isfinite(nats) for nats in worth.values())
    assert worth["inferred"] < worth["pooled"]  # the third task has weights of its own


def test_another_unit_of_the_target_adds_its_logarithm(real_case: Case) -> None:
    worth = structure_worth_of(real_case.model, real_case.train)
    residual = np.std(real_case.train.y)
    assert worth is not None
    assert worth["alone"] < 0.5 * math.log(2 * math.pi * math.e * residual**2) + 0.2  # a constant's, in the same unit


def test_a_fit_that_inferred_no_structure_has_no_worth(class_case: Case) -> None:
    train = class_case.train
    model = MultiTaskClassifier("bmtl", encoder="linear", max_steps=2, random_state=0)
    assert structure_worth_of(model.fit(train.X, train.y, tasks=train.tasks), train) is None
