"""What the claims of the paper are about, as one number of a record: scores, attacks, curves, maps, seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from vmtl.evaluation.intervals import LEVEL, Interval

Record = Mapping[str, Any]
#: Domains of Office-Caltech that were photographed alike: web images of products, and one office with two cameras.
ALIKE = (("amazon", "caltech10"), ("dslr", "webcam"))
#: Digits that look nearly the same after some rotation, says the paper.
HARD_DIGITS = ("digit_0", "digit_6", "digit_9")


@dataclass(frozen=True)
class Statistic:
    """How a number is read from a record, in which unit, and which end of it is better."""

    read: Callable[[Record], float | None]
    unit: float = 1.0
    less_is_better: bool = False


def score(name: str) -> Callable[[Record], float | None]:
    """A score of the record, averaged over tasks."""
    return lambda record: record["average"].get(name)


def cost(name: str) -> Callable[[Record], float | None]:
    return lambda record: record["cost"].get(name)


def attacked(record: Record) -> float | None:
    """Mean accuracy over tasks and all noise levels but none."""
    attack = record["extras"].get("attack")
    if attack is None:
        return None
    kept = np.asarray(attack["levels"]) > 0
    return float(np.mean([np.asarray(curve)[kept] for curve in attack["accuracy"].values()]))


def most_attacked(record: Record) -> float | None:
    """Mean accuracy over tasks at the highest noise level."""
    attack = record["extras"].get("attack")
    return None if attack is None else float(np.mean([curve[-1] for curve in attack["accuracy"].values()]))


def over_training(name: str) -> Callable[[Record], float | None]:
    """The training loss or one of its terms, averaged over all steps: lower where it falls sooner."""

    def read(record: Record) -> float | None:
        history = record["extras"].get("history")
        return None if history is None else float(np.mean(history[name]))

    return read


def _map(record: Record, name: str) -> np.ndarray | None:
    values = record["extras"].get("mixing", {}).get(name)
    return None if values is None else np.asarray(values)


def weight_of_alike(name: str) -> Callable[[Record], float | None]:
    """The mean weight between the domains that are alike; 1/3 if a map of four tasks says nothing."""

    def read(record: Record) -> float | None:
        weights = _map(record, name)
        if weights is None:
            return None
        tasks = record["extras"]["mixing"]["tasks"]
        if not {task for pair in ALIKE for task in pair} <= set(tasks):
            return None
        pairs = [(tasks.index(a), tasks.index(b)) for a, b in ALIKE]
        return float(np.mean([[weights[a, b], weights[b, a]] for a, b in pairs]))

    return read


def largest_weight(name: str) -> Callable[[Record], float | None]:
    """The largest weight of a row of the map, averaged over rows."""

    def read(record: Record) -> float | None:
        weights = _map(record, name)
        return None if weights is None else float(weights.max(1).mean())

    return read


def hard_digits(record: Record) -> float | None:
    """Mean error of the digits 0, 6 and 9 minus that of the others."""
    tasks = {name: scores["nmse"] for name, scores in record["tasks"].items() if "nmse" in scores}
    if not set(HARD_DIGITS) <= set(tasks):
        return None
    others = [value for name, value in tasks.items() if name not in HARD_DIGITS]
    return float(np.mean([tasks[name] for name in HARD_DIGITS]) - np.mean(others))


STATISTICS: dict[str, Statistic] = {
    "accuracy": Statistic(score("accuracy"), 100),
    "nmse": Statistic(score("nmse"), less_is_better=True),
    "entropy_ratio": Statistic(score("entropy_ratio")),
    "accuracy under attack, mean over levels": Statistic(attacked, 100),
    "accuracy at the highest noise level": Statistic(most_attacked, 100),
    "loss, mean over steps": Statistic(over_training("loss"), less_is_better=True),
    "NLL, mean over steps": Statistic(over_training("nll"), less_is_better=True),
    "seconds per step": Statistic(cost("seconds_per_step"), less_is_better=True),
    "seconds per 1,000 rows": Statistic(cost("seconds_per_1000_rows"), less_is_better=True),
    "alpha between tasks that are alike": Statistic(weight_of_alike("alpha")),
    "beta between tasks that are alike": Statistic(weight_of_alike("beta")),
    "largest alpha of a task": Statistic(largest_weight("alpha")),
    "nmse of 0, 6 and 9 minus that of the others": Statistic(hard_digits),
}


def correct_rows(record: Record) -> dict[str, np.ndarray] | None:
    """Per task, which test rows were labelled rightly (n_t,); None where the record does not say."""
    packed = record["extras"].get("correct")
    if packed is None:
        return None
    sizes = {name: scores["n_test"] for name, scores in record["tasks"].items()}
    return {
        name: np.unpackbits(np.frombuffer(bytes.fromhex(digits), dtype=np.uint8))[: sizes[name]].astype(float)
        for name, digits in packed.items()
    }


def over_test_rows(pairs: list[tuple[Record, Record]]) -> Interval | None:
    """The difference of two mean accuracies with the interval that the finite test set gives it, in percent.

    Rows are paired: a row counts with the difference of its labels' rightness, averaged over seeds, so that with one
    seed only the rows on which two methods differ count, as in McNemar's test.
    """
    sides = [(correct_rows(a), correct_rows(b)) for a, b in pairs]
    if not sides or any(a is None or b is None for a, b in sides):
        return None
    tasks = list(sides[0][0])
    gains = [np.mean([a[task] - b[task] for a, b in sides], axis=0) for task in tasks]
    value = float(np.mean([gain.mean() for gain in gains]))
    error = np.sqrt(sum(gain.var(ddof=1) / len(gain) for gain in gains)) / len(gains)
    half = float(norm.ppf((1 + LEVEL) / 2) * error)
    return Interval(100 * value, 100 * (value - half), 100 * (value + half))
