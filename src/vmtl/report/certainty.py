"""Which tasks differ beyond doubt: estimates that few rows pull to the mean, and verdicts on many tasks at once.

With n_t values of mean m_t in task t, the variance of a value is taken from the task and from all of them,

    s2_t = (d0 s2 + (n_t - 1) var_t) / (d0 + n_t - 1)

so that two equal values do not look certain; s2 is the pooled variance. A mean differs from a given one by Student's t
with d0 + n_t - 1 degrees of freedom, and of many such verdicts those are kept whose share of false ones is at most 5 %
(Benjamini and Hochberg). The shrunken mean is m + b_t (m_t - m), b_t = tau2 / (tau2 + s2_t / n_t), where tau2 is the
variance of true means.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, t

from vmtl._utils.types import Array
from vmtl.evaluation.scored_predictions import Evidence

#: Share of false verdicts among all that are told.
FALSE_VERDICTS = 0.05
#: d0: how many rows of its own a task needs to count as much as all others for the variance.
PRIOR_ROWS = 4.0
#: Variances at least, in units of the mean square of the values.
LEAST_VARIANCE = 1e-12


@dataclass(frozen=True)
class GroupMeans:
    """Means of values by group: (G,) each, in the order of ``groups``."""

    groups: Array
    count: Array
    mean: Array
    error: Array  # standard errors
    overall: float  # the mean over groups
    shrunken: Array

    def p_values(self, against: float) -> Array:
        """(G,) how probable a mean as far from ``against`` is by chance."""
        tail = t.sf(np.abs(self.mean - against) / self.error, PRIOR_ROWS + self.count - 1)
        return np.asarray(2 * tail)

    def differ(self, against: float) -> Array:
        """(G,) whether a mean differs from ``against`` beyond doubt, of all groups together."""
        return kept_verdicts(self.p_values(against))


def group_means(values: Array, group: Array) -> GroupMeans:
    """Means of ``values`` (n,) by ``group`` (n,)."""
    groups, place = np.unique(group, return_inverse=True)
    count = np.bincount(place).astype(float)
    mean = np.bincount(place, weights=values) / count
    squares = np.bincount(place, weights=np.square(values - mean[place]))
    spread = squares.sum() / max(float((count - 1).sum()), 1.0)
    if not (count > 1).any():
        spread = float(np.var(values))
    variance = (PRIOR_ROWS * spread + squares) / (PRIOR_ROWS + count - 1) / count
    variance = np.maximum(variance, LEAST_VARIANCE * (float(np.square(values).mean()) or 1.0))
    weight = 1 / variance
    centre = float((weight * mean).sum() / weight.sum())
    # DerSimonian and Laird: what means differ by more than their errors explain
    excess = float((weight * np.square(mean - centre)).sum()) - (len(groups) - 1)
    scale = float(weight.sum() - np.square(weight).sum() / weight.sum())
    between = max(0.0, excess / scale) if scale > 0 else 0.0
    weight = 1 / (between + variance)
    overall = float((weight * mean).sum() / weight.sum())
    shrunken = overall + between * weight * (mean - overall)
    return GroupMeans(groups, count, mean, np.sqrt(variance), overall, shrunken)


def kept_verdicts(p: Array) -> Array:
    """(G,) the verdicts that may be told, such that at most a twentieth of them is false on average."""
    order = np.argsort(p, kind="stable")
    passed = np.flatnonzero(p[order] <= FALSE_VERDICTS * np.arange(1, len(p) + 1) / len(p))
    kept = np.zeros(len(p), dtype=bool)
    kept[order[: passed[-1] + 1 if len(passed) else 0]] = True
    return kept


def below_promise(inside: Array, group: Array, promised: float) -> Array:
    """The groups in which ``inside`` (n,) holds less often than promised, beyond doubt."""
    groups, place = np.unique(group, return_inverse=True)
    count, hits = np.bincount(place), np.bincount(place, weights=inside)
    return np.asarray(groups[kept_verdicts(binom.cdf(hits, count, promised))])


def task_scores(evidence: Evidence) -> GroupMeans:
    """The loss of every task: the share of wrong rows, or the mean squared error."""
    return group_means(evidence.loss, evidence.task)


def weak_tasks(evidence: Evidence) -> list[int]:
    """Tasks that are predicted worse than the average one beyond doubt, the worst first."""
    found = task_scores(evidence)
    is_weak = found.differ(found.overall) & (found.mean > found.overall)
    order = np.argsort(-found.shrunken, kind="stable")
    return [int(found.groups[k]) for k in order if is_weak[k]]


def shown_tasks(evidence: Evidence, most: int) -> list[int]:
    """The tasks with rows; of more than ``most`` those that differ from the average most surely, worst first."""
    found = task_scores(evidence)
    if len(found.groups) <= most:
        return [int(task) for task in found.groups]
    surest = np.argsort(found.p_values(found.overall), kind="stable")[:most]
    return [int(found.groups[k]) for k in sorted(surest, key=lambda k: -found.shrunken[k])]


def largest_tasks(evidence: Evidence, most: int) -> list[int]:
    """The tasks with rows; of more than ``most`` those with the most of them, largest first."""
    groups, counts = np.unique(evidence.task, return_counts=True)
    if len(groups) <= most:
        return [int(task) for task in groups]
    return [int(task) for task in groups[np.argsort(-counts, kind="stable")[:most]]]


def shrunken_scores(evidence: Evidence) -> dict[int, float]:
    """Accuracy or RMSE of every task, pulled to that of all as far as its rows are few."""
    found = task_scores(evidence)
    losses = np.maximum(found.shrunken, 0.0)
    scores = 1 - losses if evidence.p is not None else np.sqrt(losses)
    return {int(task): float(score) for task, score in zip(found.groups, scores, strict=True)}


def gain_verdicts(evidence: Evidence, alone: Evidence) -> dict[int, str]:
    """Which tasks the others helped or hurt, of all tasks together."""
    found = group_means(alone.loss - evidence.loss, evidence.task)
    sure = found.differ(0.0)
    return {
        int(task): "no clear difference" if not is_sure else "helped" if gain > 0 else "hurt"
        for task, is_sure, gain in zip(found.groups, sure, found.mean, strict=True)
    }
