"""95 % intervals contain what they should, as often as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from vmtl.evaluation.intervals import Interval, of_mean, of_root_mean, of_share


def test_intervals_cover_as_often_as_they_say() -> None:
    rng = np.random.default_rng(0)
    hits = {"share": 0, "root": 0, "mean": 0}
    for _ in range(300):
        share, root = of_share(rng.random(60) < 0.8), of_root_mean(rng.normal(0, 2, 80) ** 2, resamples=300)
        mean = of_mean(rng.normal(1, 3, 5))
        hits["share"] += share.low <= 0.8 <= share.high
        hits["root"] += root.low <= 2 <= root.high
        hits["mean"] += mean.low <= 1 <= mean.high
    assert all(0.89 <= count / 300 <= 0.99 for count in hits.values()), hits


def test_one_value_has_no_interval() -> None:
    assert np.isnan(of_mean(np.array([2.0])).low)


def test_the_interval_of_a_mean_is_students() -> None:
    values = [0.9, 0.92, 0.88, 0.95, 0.91]
    interval = of_mean(values)
    low, high = stats.t.interval(0.95, 4, np.mean(values), stats.sem(values))
    assert (interval.low, interval.high) == pytest.approx((low, high))
    assert interval.half == pytest.approx((high - low) / 2)


@pytest.mark.parametrize(
    ("low", "high", "sure"), [(0.1, 0.2, True), (-0.2, -0.1, True), (-0.1, 0.1, False), (math.nan, math.nan, False)]
)
def test_a_sign_is_sure_where_the_interval_leaves_out_zero(low: float, high: float, sure: bool) -> None:
    assert Interval(0.0, low, high).leaves_out_zero is sure


def test_nothing_has_no_mean() -> None:
    assert math.isnan(of_mean([]).value)
