"""What records say about a claim: confirmed, refuted or undecided, place by place.

A claim is confirmed where every 95 % interval of the difference lies above 0 (or above minus its margin), refuted where
every one lies below, undecided otherwise. There are two: the t-interval over seeds, paired by seed, and of accuracies
on the paper's split, whose seeds all see the same test rows, the interval over these rows. Seeds that all say the same
number say nothing of other rows: without the second interval they decide nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.paper.claims.claim_list import Claim, Row
from benchmarks.paper.claims.claim_statistics import STATISTICS, Record, over_test_rows
from vmtl.evaluation.intervals import Interval, of_mean

#: Fewer seeds than this say nothing about others.
FEWEST_SEEDS = 2


@dataclass(frozen=True, order=True)
class Place:
    """Where a row stands: set, share of training data in percent, split, preset and its steps (0: the preset's own)."""

    data: str
    fraction: float
    split: str
    preset: str
    steps: int

    def __str__(self) -> str:
        split = "" if self.split == "paper" else ", random splits"
        steps = f", {self.steps:,} steps" if self.steps else ""
        share = f" {self.fraction:g} %" if self.fraction else ""
        return f"{self.data}{share}{split}, {self.preset}{steps}"


@dataclass(frozen=True)
class Finding:
    """A claim at one place: both sides, the difference over seeds, and the interval over test rows if there is one."""

    claim: Claim
    place: Place
    better: float
    worse: float
    over_seeds: Interval
    over_rows: Interval | None
    seeds: int

    @property
    def verdict(self) -> str:
        """By the intervals alone."""
        intervals = [self.over_seeds] + ([] if self.over_rows is None else [self.over_rows])
        no_chance = self.over_rows is None and self.over_seeds.low == self.over_seeds.high
        if self.seeds < FEWEST_SEEDS or no_chance or (self.over_rows is None and needs_rows(self.claim, self.place)):
            return "undecided"
        if all(interval.low > -self.claim.margin for interval in intervals):
            return "confirmed"
        return "refuted" if all(interval.high < -self.claim.margin for interval in intervals) else "undecided"


def needs_rows(claim: Claim, place: Place) -> bool:
    """Whether the difference also has an interval over test rows, which all seeds share."""
    return claim.metric == "accuracy" and place.split == "paper" and not claim.fractions


Runs = dict[Place, dict[int, Record]]


def place_of(record: Record) -> Place:
    job = record["job"]
    steps = job["candidates"][0].get("max_steps") or 0
    return Place(job["data"], job["fraction"], job["split"], record["preset"], steps)


def runs_of(records: Iterable[Record], row: Row, metric: str) -> Runs:
    """The records of a row that have the metric, by place and seed; a plain row leaves the preset as it is."""
    by_place: Runs = {}
    for record in records:
        job = record["job"]
        options = {k: v for k, v in job["candidates"][0].items() if k not in ("preset", "max_steps")}
        plain = record["status"] == "done" and not job["smoke"] and len(job["candidates"]) == 1
        if not plain or job["method"] != row.method or options != dict(row.options):
            continue
        if STATISTICS[metric].read(record) is not None:
            by_seed = by_place.setdefault(place_of(record), {})
            known = by_seed.get(job["seed"])  # the same fit may have been measured twice, once more closely
            if known is None or _closeness(record) >= _closeness(known):
                by_seed[job["seed"]] = record
    return by_place


def _closeness(record: Record) -> tuple[bool, int]:
    """How much was measured: single rows count first, without which a difference has no interval over rows."""
    return "correct" in record["extras"], len(record["extras"])


def judge(claim: Claim, records: list[Record]) -> list[Finding]:
    """The claim at every place where both of its rows have records of the same seeds."""
    better = runs_of(records, claim.better, claim.metric)
    worse = better if claim.worse is None else runs_of(records, claim.worse, claim.metric)
    findings = []
    for place in sorted(better):
        other = replace(place, data=claim.control or place.data, steps=0 if claim.whole else place.steps)
        seeds = sorted(better[place].keys() & worse.get(other, {}).keys())
        if place.data == claim.control or not seeds:
            continue
        pairs = [(better[place][seed], worse[other][seed]) for seed in seeds]
        findings.append(_compare(claim, place, pairs))
    return _trends(claim, records, findings) if claim.fractions else findings


def _compare(claim: Claim, place: Place, pairs: list[tuple[Record, Record]]) -> Finding:
    """Both sides on the same seeds; scores of which less is better are turned round."""
    a, b = _values(claim, pairs)
    sign = -1 if STATISTICS[claim.metric].less_is_better else 1
    rows = None
    if needs_rows(claim, place):
        rows = over_test_rows(pairs)
    return Finding(claim, place, float(a.mean()), float(b.mean()), of_mean(sign * (a - b)), rows, len(pairs))


def _values(claim: Claim, pairs: list[tuple[Record, Record]]) -> tuple[np.ndarray, np.ndarray]:
    statistic = STATISTICS[claim.metric]
    a = statistic.unit * np.array([statistic.read(record) for record, _ in pairs], dtype=float)
    if claim.worse is None:
        return a, np.zeros_like(a)
    return a, statistic.unit * np.array([statistic.read(record) for _, record in pairs], dtype=float)


def _trends(claim: Claim, records: list[Record], findings: list[Finding]) -> list[Finding]:
    """The gain at the first share of training data against the gain at the second, on the same seeds."""
    assert claim.fractions is not None
    assert claim.worse is not None
    better, worse = (runs_of(records, row, claim.metric) for row in (claim.better, claim.worse))

    def gains(place: Place) -> dict[int, float]:
        seeds = sorted(better.get(place, {}).keys() & worse.get(place, {}).keys())
        if not seeds:
            return {}
        a, b = _values(claim, [(better[place][seed], worse[place][seed]) for seed in seeds])
        return dict(zip(seeds, (a - b).tolist(), strict=True))

    trends = []
    for finding in findings:
        first, second = (gains(replace(finding.place, fraction=fraction)) for fraction in claim.fractions)
        seeds = sorted(first.keys() & second.keys())
        if finding.place.fraction != claim.fractions[0] or not seeds:
            continue
        a, b = (np.array([side[seed] for seed in seeds]) for side in (first, second))
        trends.append(
            Finding(claim, replace(finding.place, fraction=0.0), a.mean(), b.mean(), of_mean(a - b), None, len(seeds))
        )
    return trends


def deciding(claim: Claim, findings: list[Finding]) -> Finding | None:
    """The finding at the claim's own place: of several lengths of training, the one with most seeds, then steps."""
    own = (claim.data, 0.0 if claim.fractions else claim.fraction, claim.split, claim.preset)
    at_place = [f for f in findings if (f.place.data, f.place.fraction, f.place.split, f.place.preset) == own]
    return max(at_place, key=lambda finding: (finding.seeds, finding.place.steps or 10**9), default=None)
