"""95 % intervals: of a share, of an error, of a mean over seeds, of a paired difference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest, t

from vmtl._utils.types import Array

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A value and the ends of its 95 % interval; the ends are nan where there are too few rows to say."""

    value: float
    low: float
    high: float


def of_share(right: Array) -> Interval:
    """Share of True, with Wilson's interval."""
    found = binomtest(int(right.sum()), len(right)).proportion_ci(LEVEL, method="wilson")
    return Interval(float(right.mean()), float(found.low), float(found.high))


def of_root_mean(squares: Array, resamples: int = 2000) -> Interval:
    """sqrt(mean(squares)), with the percentile interval of a seeded bootstrap over rows."""
    draws = np.random.default_rng(0).integers(len(squares), size=(resamples, len(squares)))
    low, high = np.quantile(np.sqrt(squares[draws].mean(axis=1)), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(np.sqrt(squares.mean())), float(low), float(high))


def of_mean(values: Array) -> Interval:
    """Mean, with Student's interval: over seeds, or over paired differences of rows."""
    mean, n = float(np.mean(values)), len(values)
    if n < 2:
        return Interval(mean, float("nan"), float("nan"))
    half = float(t.ppf((1 + LEVEL) / 2, n - 1) * np.std(values, ddof=1) / np.sqrt(n))
    return Interval(mean, mean - half, mean + half)
