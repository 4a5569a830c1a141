"""Intervals and tests over runs: what can be said about means, differences and single tasks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from vmtl.evaluation.intervals import LEVEL, Interval, of_mean

#: Differences smaller than this, in the unit of the score, are ties.
TIE = 1e-9


def sampling_half_width(accuracy: Sequence[float], n_test: Sequence[int], level: float = LEVEL) -> float:
    """Half width from the finite test set of a mean accuracy over T tasks: z sqrt(sum_t p (1 - p) / n_t) / T."""
    p, n = np.asarray(accuracy, dtype=float), np.asarray(n_test, dtype=float)
    return float(stats.norm.ppf((1 + level) / 2) * math.sqrt(np.sum(p * (1 - p) / n)) / len(p))


@dataclass(frozen=True)
class Paired:
    """Differences a - b on the same splits: their interval, and how often a was better, equal or worse."""

    difference: Interval
    wins: int
    ties: int
    losses: int

    @property
    def sure(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.difference.leaves_out_zero


def paired(a: Mapping[object, float], b: Mapping[object, float], higher_is_better: bool = True) -> Paired | None:
    """Compare scores by split key; None where no split is common to both. Positive is better for a."""
    sign = 1.0 if higher_is_better else -1.0
    gains = [sign * (a[key] - b[key]) for key in a if key in b]
    if not gains:
        return None
    wins, losses = sum(gain > TIE for gain in gains), sum(gain < -TIE for gain in gains)
    return Paired(of_mean(gains), wins, len(gains) - wins - losses, losses)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: adjusted p-values in the given order."""
    order = np.argsort(p_values, kind="stable")
    adjusted, largest = np.empty(len(p_values)), 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return [float(value) for value in adjusted]


def worse_p_value(gains: Sequence[float]) -> float:
    """One-sided t-test over splits that the mean gain is negative; 1 where it cannot be tested."""
    values = np.asarray(gains, dtype=float)
    if len(values) < 2:
        return 1.0
    spread = values.std(ddof=1)
    if spread < 1e-12:
        return 0.0 if values.mean() < -TIE else 1.0
    return float(stats.t.cdf(values.mean() / (spread / math.sqrt(len(values))), len(values) - 1))


def lost_rows_p_value(gains: Sequence[float], n_test: int) -> float:
    """The least p-value that McNemar's test can have for the rows that were lost net: 2^-lost.

    Where all runs share one split, seeds repeat the same test rows, and a t-test over them says nothing about others.
    The rows on which two classifiers differ are at least those lost net; if there are more, the p-value is larger.
    """
    return float(0.5 ** max(0.0, -float(np.mean(gains)) * n_test))


def negative_transfer(
    gains: Mapping[str, Sequence[float]], n_test: Mapping[str, int] | None = None, level: float = LEVEL
) -> dict[str, float]:
    """Tasks that are worse off than alone, with Holm's correction over tasks: name to adjusted p-value.

    gains : per task, its gain over the per-task reference row on every run; n_test : per task, its test rows, if all
    runs share them and gains are of accuracy.
    """
    names = list(gains)
    if n_test is None:
        values = [worse_p_value(gains[name]) for name in names]
    else:
        values = [lost_rows_p_value(gains[name], n_test[name]) for name in names]
    return {name: p for name, p in zip(names, holm(values), strict=True) if p < 1 - level}
