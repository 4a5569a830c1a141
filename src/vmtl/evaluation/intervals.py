"""95 % intervals: of a share, of an error, of a mean over seeds, of a paired difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
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

    @property
    def half(self) -> float:
        """Half of its width."""
        return (self.high - self.low) / 2

    @property
    def leaves_out_zero(self) -> bool:
        """Whether the sign of the value is sure; not with too few rows to say."""
        return self.low > 0 or self.high < 0


def of_share(right: Array) -> Interval:
    """Share of True, with Wilson's interval."""
    wilson = binomtest(int(right.sum()), len(right)).proportion_ci(LEVEL, method="wilson")
    return Interval(float(right.mean()), float(wilson.low), float(wilson.high))


def of_root_mean(squares: Array, resamples: int = 2000) -> Interval:
    """sqrt(mean(squares)), with the percentile interval of a seeded bootstrap over rows."""
    draws = np.random.default_rng(0).integers(len(squares), size=(resamples, len(squares)))
    low, high = np.quantile(np.sqrt(squares[draws].mean(axis=1)), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(np.sqrt(squares.mean())), float(low), float(high))


def of_mean(values: Array | Sequence[float]) -> Interval:
    """Mean +- t_{(1 + level) / 2, n - 1} s / sqrt(n): over seeds, or over paired differences of rows."""
    n = len(values)
    mean = float(np.mean(values)) if n else math.nan
    if n < 2:
        return Interval(mean, math.nan, math.nan)
    half = float(t.ppf((1 + LEVEL) / 2, n - 1) * np.std(values, ddof=1) / np.sqrt(n))
    return Interval(mean, mean - half, mean + half)
