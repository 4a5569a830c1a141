"""From records to one value per set and peer, ranks and goals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from benchmarks.peers.jobs import Job, Record
from benchmarks.peers.tools import PEERS

US, FLOOR = "vmtl", "constant"
#: What a classification is held against, the best of them on each set picked on test rows.
STRONG = ("pooled", "dummies", "forest", "catboost")
#: Coverage that counts as right, for intervals of 90 %.
RIGHT_COVERAGE = (0.87, 0.94)


def frame(records: Iterable[Record]) -> pd.DataFrame:
    """One row per record that has scores: set, kind, split, peer, scores and processor seconds."""
    kept = ("set", "kind", "split", "peer", "cpu_seconds", "date")
    rows = [{**{key: record[key] for key in kept}, **record["scores"]} for record in records if record["scores"]]
    return pd.DataFrame(rows)


def means(table: pd.DataFrame, metric: str, kinds: Sequence[str]) -> pd.DataFrame:
    """(sets, peers) means over the splits that all peers of a set have; NaN where a peer lacks the set's first."""
    own = table[table["kind"].isin(kinds)]
    if own.empty or metric not in own:
        return pd.DataFrame()
    wide = own.pivot_table(index=["set", "split"], columns="peer", values=metric)
    found = {
        name: rows.loc[:, rows.iloc[0].notna()].dropna().mean() for name, rows in wide.groupby(level="set", sort=True)
    }
    return pd.DataFrame(found).T.reindex(columns=[peer for peer in PEERS if peer in wide])


def n_splits(table: pd.DataFrame) -> pd.Series:
    """How many splits a peer has on every set that it can take: the least of them."""
    return table.groupby(["peer", "set"])["split"].nunique().groupby(level="peer").min()


def unfinished(jobs: Iterable[Job], records: Iterable[Record]) -> list[str]:
    """Peers that have been run, but not on the first split of every set."""
    first, done = [job for job in jobs if job.split == 0], {record["id"] for record in records}
    there = {job.peer for job in first if job.id in done}
    lacking = {job.peer for job in first if job.id not in done}
    return [peer for peer in PEERS if peer in there & lacking]


def only(table: pd.DataFrame, peers: Iterable[str]) -> pd.DataFrame:
    """The records of some peers: what is common to them may be more than what is common to all."""
    return table[table["peer"].isin(list(peers))]


def ranks(values: pd.DataFrame, higher_is_better: bool = False) -> pd.DataFrame:
    """Rank of every peer on every set, 1 is best, among the peers that have a value; the floor is not ranked."""
    real = values.drop(columns=FLOOR, errors="ignore")
    sign = -1 if higher_is_better else 1
    found = [np.where(np.isnan(row), np.nan, rankdata(sign * row, nan_policy="omit")) for row in real.to_numpy()]
    return pd.DataFrame(found, index=real.index, columns=real.columns)


@dataclass(frozen=True)
class Goal:
    """A row of the goals: the measured value (None: not measured), the goal in words, and whether it is met."""

    name: str
    value: float | None
    goal: str
    passed: bool | None

    def row(self) -> dict[str, object]:
        return {"name": self.name, "value": self.value, "goal": self.goal, "pass": self.passed}


def goals(table: pd.DataFrame) -> list[Goal]:
    """The goals of the default; all sets weigh equally, each with the splits that those who are compared have."""
    classes = ("binary", "multi-class")
    rmse, nll = means(table, "rmse", ("regression",)), means(table, "nll", classes)
    few = only(table, [US, *STRONG])
    auc, coverage = means(few, "auc", ("binary",)), means(only(table, [US]), "coverage", ("regression",))
    lost = _against_the_strong(means(few, "nll", classes), lambda ours, best: 100 * (ours - best) / best, "min")
    gained = _against_the_strong(auc, lambda ours, best: 100 * (ours - best), "max")
    first = ranks(rmse)[US].dropna() == 1 if US in rmse else []
    place = ranks(nll)[US].dropna() if US in nll else []
    right = coverage[US].dropna().between(*RIGHT_COVERAGE) if US in coverage else []
    return [
        _goal("regression: % of sets with the lowest RMSE of all", first, "at least 75", _percent, lambda v: v >= 75),
        _goal("classification: mean rank by likelihood", place, "at most 2", np.mean, lambda v: v <= 2),
        _goal("classification: % NLL over the best of four, mean", lost, "at most 1", np.mean, lambda v: v <= 1),
        _goal("classification: % NLL over the best of four, worst set", lost, "at most 4", np.max, lambda v: v <= 4),
        _goal("two classes: points of AUC over the best of four", gained, "at least 0", np.mean, lambda v: v >= 0),
        _goal("regression: % of sets with coverage of 87 to 94 %", right, "at least 90", _percent, lambda v: v >= 90),
    ]


def _against_the_strong(values: pd.DataFrame, compare, best: str) -> Sequence[float]:  # type: ignore[no-untyped-def]
    """Ours beside the best strong peer, for every set where all of them have a value."""
    if US not in values or any(peer not in values for peer in STRONG):
        return []
    whole = values.dropna(subset=[US, *STRONG])
    return compare(whole[US], getattr(whole[list(STRONG)], best)(axis=1))


def _percent(values: Sequence[bool]) -> float:
    return 100 * float(np.mean(values))


def _goal(name, values, goal, summary, met) -> Goal:  # type: ignore[no-untyped-def]
    if not len(values):
        return Goal(name, None, goal, None)
    value = float(summary(values))
    return Goal(name, value, goal, bool(met(value)))


def versions(records: Iterable[Record]) -> Mapping[str, str]:
    """Package to version; several where records differ."""
    found: dict[str, set[str]] = {}
    for record in records:
        for name, one in record["versions"].items():
            found.setdefault(name, set()).add(one)
    return {name: "/".join(sorted(all_of)) for name, all_of in sorted(found.items())}
