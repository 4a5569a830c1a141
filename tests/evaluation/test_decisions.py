"""Thresholds and curves, against counting by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from helpers.report_models import Case
from vmtl.evaluation import Costs, Evidence, curves, decide

P = np.array([0.9, 0.6, 0.3, 0.2, 0.55, 0.05])
EVENT = np.array([1, 1, 1, 0, 0, 0])


def evidence(y: np.ndarray = EVENT, p: np.ndarray = P, positive: int = 1) -> Evidence:
    zeros, both = np.zeros(len(y)), np.column_stack([1 - p, p])
    return Evidence(("a",), ("no", "yes"), zeros.astype(int), y, both, None, None, zeros, zeros, positive)


def test_the_threshold_follows_from_the_costs() -> None:
    assert Costs().threshold == 0.5
    assert Costs(missed=9).threshold == pytest.approx(0.1)
    assert Costs(missed=1, false_alarm=3).threshold == pytest.approx(0.75)
    for bad in (0, -1, np.inf, np.nan):
        with pytest.raises(ValueError, match=r"cost of a missed event is .*; give a number above 0"):
            Costs(missed=bad)


def test_what_a_threshold_does_is_counted() -> None:
    half = decide(evidence(), Costs())
    assert (half.missed, half.false_alarms) == (1, 1)
    assert half.sensitivity == half.specificity == half.precision == pytest.approx(2 / 3)
    assert half.announced == 0.5
    assert half.cost == pytest.approx(100 * 2 / 6)
    careful = decide(evidence(), Costs(missed=4))
    assert careful.threshold == 0.2
    assert (careful.missed, careful.false_alarms) == (0, 2)
    assert careful.cost == pytest.approx(100 * 2 / 6)
    other = decide(evidence(positive=0), Costs())
    assert (other.sensitivity, other.specificity) == (half.specificity, half.sensitivity)
    nobody = decide(evidence(), Costs(), threshold=2.0)
    assert nobody.announced == 0
    assert np.isnan(nobody.precision)


def test_of_all_thresholds_that_of_the_costs_is_best_where_probabilities_are_true() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(1, 5, 100_000)
    truth = evidence((rng.random(len(p)) < p).astype(int), p)
    costs = Costs(missed=4)
    best = min(np.linspace(0.05, 0.95, 19), key=lambda t: decide(truth, costs, t).cost)
    assert best == pytest.approx(costs.threshold, abs=0.051)


def test_curves_pass_through_every_decision() -> None:
    curve = curves(evidence())
    assert curve is not None
    for threshold in (0.9, 0.5, 0.2):
        at = decide(evidence(), Costs(), threshold)
        points = np.column_stack([curve.false_alarm_rate, curve.sensitivity])
        # scikit-learn leaves out points on a straight line, so the decision lies on the curve, not always at a point
        assert np.interp(1 - at.specificity, *points.T) >= at.sensitivity - 1e-12
        assert np.abs(curve.recall - at.sensitivity).min() < 1e-12
    assert curve.prevalence == 0.5
    assert curves(evidence(np.zeros(6, int))) is None


def test_thresholds_are_for_two_classes(class_case: Case, real_case: Case) -> None:
    for case in (class_case, real_case):
        with pytest.raises(ValueError, match="needs two classes"):
            decide(case.evidence, Costs())
    rows = np.arange(10)
    assert curves(class_case.evidence, 2, rows) is not None
    assert replace(class_case.evidence, positive=0).scores(rows)["f1"] == class_case.evidence.scores(rows)["f1"]
