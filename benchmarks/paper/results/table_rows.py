"""Records of a suite, grouped into the rows of its tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.paper.run.job import DEFAULT
from benchmarks.paper.run.records import Record
from benchmarks.paper.run.suite import PaperRow, Suite
from vmtl._utils.json_values import Document
from vmtl.evaluation.intervals import Interval, of_mean
from vmtl.evaluation.references import REFERENCES
from vmtl.paper.methods import METHODS

LOWER_IS_BETTER = {"rmse", "nmse", "nll", "ece", "brier"}


@dataclass(frozen=True)
class RowKey:
    """What a row is; the runs of a row differ by seed and split only."""

    data: str
    split: str
    fraction: float
    method: str
    preset: str
    variant: str
    selection: str

    @property
    def setting(self) -> tuple[str, str, float]:
        """Data, split and fraction: what the rows of one table share."""
        return self.data, self.split, self.fraction

    @property
    def is_reference(self) -> bool:
        return self.method in REFERENCES

    @property
    def label_and_preset(self) -> str:
        return f"{self.label} [{self.preset}]"

    @property
    def label(self) -> str:
        """The method as people write it, with its variant."""
        declared = {**METHODS, **REFERENCES}
        name = "Gaussian process" if self.method == DEFAULT else declared[self.method].name
        return f"{name} ({self.variant})" if self.variant else name


@dataclass(eq=False)
class TableRow:
    """A key and its records by seed."""

    key: RowKey
    runs: dict[int, Record] = field(default_factory=dict)
    n_wanted: int = 0

    def values(self, metric: str, task: str = "average") -> dict[object, float]:
        """The score of every run that has it, by seed."""
        return {seed: value for seed, run in self.runs.items() if (value := _score(run, metric, task)) is not None}

    def interval(self, metric: str, task: str = "average") -> Interval:
        return of_mean(list(self.values(metric, task).values()))

    def cost(self, name: str) -> float:
        """The mean of a cost; nan where no run has it."""
        costs = [run["cost"][name] for run in self.runs.values() if name in run["cost"]]
        return sum(costs) / len(costs) if costs else math.nan

    def extras(self, name: str) -> list[Document]:
        """What was measured beside the scores, of every run that has it."""
        return [run["extras"][name] for run in self.runs.values() if name in run.get("extras", ())]

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(name for run in self.runs.values() for name in run["tasks"]))

    @property
    def diverged(self) -> int:
        return sum(run["status"] != "done" for run in self.runs.values())


def _score(run: Record, metric: str, task: str) -> float | None:
    scores: Mapping[str, float] = run["average"] if task == "average" else run["tasks"].get(task, {})
    value = scores.get(metric)
    return None if value is None else float(value)


def collect_rows(suite: Suite, records: Mapping[str, Record]) -> list[TableRow]:
    """The suite's rows in its order; jobs without a record only count as wanted."""
    rows: dict[RowKey, TableRow] = {}
    for job in suite.jobs:
        preset = "" if job.method in REFERENCES else job.preset
        key = RowKey(job.data, job.split, job.fraction, job.method, preset, job.variant, job.selection)
        row = rows.setdefault(key, TableRow(key))
        row.n_wanted += 1
        if job.id in records:
            row.runs[job.seed] = records[job.id]
    return list(rows.values())


def settings_of(rows: Sequence[TableRow]) -> list[tuple[str, str, float]]:
    """The distinct (data, split, fraction) in order."""
    return list(dict.fromkeys(row.key.setting for row in rows))


def best_row(rows: Sequence[TableRow], metric: str) -> TableRow | None:
    """The row with the best mean; None without one that has runs."""
    scored = [row for row in rows if row.values(metric)]
    sign = 1 if metric in LOWER_IS_BETTER else -1
    return min(scored, key=lambda row: sign * row.interval(metric).value, default=None)


def find_paper(suite: Suite, key: RowKey, metric: str) -> PaperRow | None:
    """The paper's row for a key: same data, fraction, method, variant and metric."""
    for row in suite.paper:
        same = (row.data, row.fraction, row.method, row.variant) == (key.data, key.fraction, key.method, key.variant)
        if same and row.metric == metric:
            return row
    return None
