"""From probabilities to decisions: curves over all thresholds, and the threshold that stated costs ask for."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import precision_recall_curve, roc_curve

from vmtl._utils.types import Array
from vmtl.evaluation.scored_predictions import Evidence


@dataclass(frozen=True)
class Costs:
    """What the two kinds of errors cost, in any unit.

    missed : of an event that was not announced (a false negative).
    false_alarm : of an announcement without an event (a false positive).
    """

    missed: float = 1.0
    false_alarm: float = 1.0

    def __post_init__(self) -> None:
        for name, cost in (("missed event", self.missed), ("false alarm", self.false_alarm)):
            if not (math.isfinite(cost) and cost > 0):
                raise ValueError(f"The cost of a {name} is {cost}; give a number above 0.")

    @property
    def threshold(self) -> float:
        """The probability of the event from which on announcing it costs less: false_alarm / (false_alarm + missed)."""
        return self.false_alarm / (self.false_alarm + self.missed)


@dataclass(frozen=True)
class Decision:
    """What happens to labelled rows if the event is announced from a probability of ``threshold`` on; shares are nan
    where there is nothing to share.

    announced : share of rows; sensitivity : share of events that are announced; specificity : share of other rows that
    are not; precision : share of announcements that are events; missed, false_alarms : numbers of rows;
    cost : per 100 rows.
    """

    threshold: float
    announced: float
    sensitivity: float
    specificity: float
    precision: float
    missed: int
    false_alarms: int
    cost: float


def decide(evidence: Evidence, costs: Costs, threshold: float | None = None, rows: Array | None = None) -> Decision:
    """Announce the event where its probability is at least ``threshold``, and count what that does.

    The threshold of the costs is the best one where probabilities are calibrated. It is not searched on the labelled
    rows, so what they show for it is not too good.

    Parameters
    ----------
    evidence : Evidence
        Predictions of two classes.
    costs : Costs
        What errors cost.
    threshold : float, default=None
        Another threshold than the one of the costs.
    rows : array of row numbers, default=None
        Some rows; all if None.
    """
    event, p = event_of(evidence)
    threshold = costs.threshold if threshold is None else threshold
    rows = np.arange(len(event)) if rows is None else rows
    event, announced = event[rows], p[rows] >= threshold
    missed, false_alarms = int((event & ~announced).sum()), int((~event & announced).sum())
    return Decision(
        threshold,
        _share(announced.sum(), len(event)),
        _share((event & announced).sum(), event.sum()),
        _share((~event & ~announced).sum(), (~event).sum()),
        _share((event & announced).sum(), announced.sum()),
        missed,
        false_alarms,
        100 * (costs.missed * missed + costs.false_alarm * false_alarms) / max(1, len(event)),
    )


def event_of(evidence: Evidence) -> tuple[Array, Array]:
    """(n,) whether the event happened, and (n,) its probability."""
    if evidence.p is None or evidence.p.shape[1] != 2:
        raise ValueError("A threshold needs two classes; this model predicts numbers or more than two classes.")
    return np.asarray(evidence.y == evidence.positive), np.asarray(evidence.p[:, evidence.positive])


@dataclass(frozen=True)
class Curves:
    """What all thresholds give for one class against the others: (m,) each."""

    false_alarm_rate: Array
    sensitivity: Array
    recall: Array
    precision: Array
    prevalence: float


def curves(evidence: Evidence, number: int | None = None, rows: Array | None = None) -> Curves | None:
    """ROC and precision-recall curves of one class; None where its rows, or all others, are missing.

    Parameters
    ----------
    evidence : Evidence
        Predictions of classes.
    number : int, default=None
        The class; the event of two classes if None.
    rows : array of row numbers, default=None
        Some rows; all if None.
    """
    assert evidence.p is not None
    number = evidence.positive if number is None else number
    rows = np.arange(len(evidence.y)) if rows is None else rows
    event, p = evidence.y[rows] == number, evidence.p[rows, number]
    if event.all() or not event.any():
        return None
    false_alarm_rate, sensitivity, _ = roc_curve(event, p)
    precision, recall, _ = precision_recall_curve(event, p)
    return Curves(false_alarm_rate, sensitivity, recall, precision, float(event.mean()))


def _share(part: int, of: int) -> float:
    return float(part / of) if of else math.nan
