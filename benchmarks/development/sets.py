"""The sets of the suite: each draws its splits by its name, the half and the number of the split only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from benchmarks.development import pools
from benchmarks.development.pools import Pool
from benchmarks.peers.sets import Problem, Rows, all_sets, digest, load_set

GROUPS = ("text", "embeddings", "counts", "pixels", "special", "tables-2", "tables-k", "tables-r")
#: Groups with other splits in the test half; tables have a test half of their own in ``peers.py``.
TESTED = ("text", "embeddings", "counts", "pixels")
HALVES = ("development", "test")
MOST_TEST_ROWS = 1000
#: Two-class tables in which the labels of one task are flipped: rows of a task, and tasks, the largest of the table.
FLIPPED = {"credit": (30, 5), "attrition": (20, 8), "nls-union": (30, 7)}


@dataclass(frozen=True)
class DevelopmentSet:
    """One set; ``lacking`` says that a class is missing in one task's training rows, see ``load``."""

    name: str
    group: str
    draw: Callable[[np.random.Generator, int], Problem]
    lacking: bool = False

    def load(self, split: int, half: str = "development") -> Problem:
        """A split: training rows, and at most ``MOST_TEST_ROWS`` test rows."""
        rng = np.random.default_rng([digest(self.name), HALVES.index(half), split])
        return replace(self.draw(rng, split), name=self.name)


def development_sets(half: str = "development") -> dict[str, DevelopmentSet]:
    """Sets by name, in the order of ``GROUPS``."""
    found = [*_texts(), *_embeddings(), *_counts(), *_pixels(), *_special(), *_tables()]
    found.sort(key=lambda one: GROUPS.index(one.group))
    return {one.name: one for one in found if half == "development" or one.group in TESTED}


def _texts() -> list[DevelopmentSet]:
    rows = {"sentences": (20, 40, 100), "debian_interface": (10, 20, 40), "debian_use": (30, 60)}
    return [
        *(_per_task(f"{name} {n}", "text", partial(_texts_of, name), n) for name in rows for n in rows[name]),
        *(
            _per_class(f"simulated words {c}x{n}", "text", partial(_simulated, pools.simulated_texts, c, signal), n)
            for c, n, signal in ((2, 10, 0.7), (5, 5, 1.0), (30, 2, 1.0), (100, 2, 1.0))
        ),
    ]


def _embeddings() -> list[DevelopmentSet]:
    found = [
        _per_class(f"office {title} {n}", "embeddings", partial(_file, f"office_caltech_{file}"), n)
        for title, file in (("efficientnet", "effnetlite0"), ("vgg", "vgg16"))
        for n in (2, 3, 5)
    ]
    simulated = ((2, 5, 0.35), (5, 3, 0.6), (10, 10, 0.3), (30, 2, 0.85), (30, 4, 0.5), (100, 2, 0.7))
    return found + [
        _per_class(
            f"simulated vectors {c}x{n}", "embeddings", partial(_simulated, pools.simulated_embeddings, c, signal), n
        )
        for c, n, signal in simulated
    ]


def _counts() -> list[DevelopmentSet]:
    surf = [_per_class(f"office surf {n}", "counts", partial(_file, "office_caltech_surf800"), n) for n in (2, 3, 5)]
    return [*surf, _per_task("word counts 20", "counts", partial(_file, "debian_interface"), 20)]


def _pixels() -> list[DevelopmentSet]:
    return [
        _per_class("three digits 4", "pixels", partial(_file, "digits3_256d"), 4),
        _per_class("tilted digits 4", "pixels", _tilted, 4),
        _per_class("mnist dealt 4", "pixels", _mnist_dealt, 4),
        _per_class("mnist pairs 10", "pixels", _mnist_pairs, 10),
    ]


def _special() -> list[DevelopmentSet]:
    lacking = [
        DevelopmentSet(f"missing class tilted digits {n} {part}", "special", partial(_lacking, _tilted, n), True)
        for n, parts in ((3, "ab"), (4, "abcd"), (10, "ab"))
        for part in parts
    ]
    lacking.append(
        DevelopmentSet(
            "missing class efficientnet 3",
            "special",
            partial(_lacking, partial(_file, "office_caltech_effnetlite0"), 3),
            True,
        )
    )
    flips = [
        DevelopmentSet(f"{state} {name} {part}", "special", partial(_one_task_apart, name, part, state == "flipped"))
        for name in (*FLIPPED, "debian_interface")
        for part in "ab"
        for state in ("unflipped", "flipped")
    ]
    random = [
        _per_task("random tasks sentences 20", "special", partial(_dealt, partial(_texts_of, "sentences"), 6), 20),
        _per_class(
            "random tasks efficientnet 3",
            "special",
            partial(_dealt, partial(_file, "office_caltech_effnetlite0"), 4),
            3,
        ),
        *(
            DevelopmentSet(f"random tasks {name}", "special", partial(_shuffled_table, name))
            for name in ("rand-hie", "milk")
        ),
    ]
    return [*lacking, *flips, *random]


def _tables() -> list[DevelopmentSet]:
    group = {"binary": "tables-2", "multi-class": "tables-k", "regression": "tables-r"}
    tables = [
        DevelopmentSet(one.name, group[one.kind], partial(_table, one.name))
        for one in all_sets()
        if one.half == "development"
    ]
    return [*tables, *(_per_task(f"school {n}", "tables-r", partial(_file, "school"), n) for n in (5, 10))]


def _file(name: str, rng: np.random.Generator) -> Pool:
    return pools.arrays(name)


def _texts_of(name: str, rng: np.random.Generator) -> Pool:
    return pools.texts(name)


def _simulated(
    make: Callable[[int, float, np.random.Generator], Pool], n_classes: int, signal: float, rng: np.random.Generator
) -> Pool:
    return make(n_classes, signal, rng)


def _tilted(rng: np.random.Generator) -> Pool:
    return pools.tilted_digits()


def _mnist_dealt(rng: np.random.Generator) -> Pool:
    return pools.dealt(pools.mnist(), 4, rng)


def _mnist_pairs(rng: np.random.Generator) -> Pool:
    return pools.pairs(pools.mnist())


def _dealt(make: Callable[[np.random.Generator], Pool], n_tasks: int, rng: np.random.Generator) -> Pool:
    return pools.dealt(make(rng), n_tasks, rng)


def _per_class(
    name: str, group: str, make: Callable[[np.random.Generator], Pool], n: int, lacking: bool = False
) -> DevelopmentSet:
    """n training rows of every class and task."""

    def draw(rng: np.random.Generator, split: int) -> Problem:
        pool = make(rng)
        return _drawn(pool, pool.task * (int(pool.y.max()) + 1) + pool.y, n, rng)

    return DevelopmentSet(name, group, draw, lacking)


def _per_task(name: str, group: str, make: Callable[[np.random.Generator], Pool], n: int) -> DevelopmentSet:
    """n training rows of every task."""

    def draw(rng: np.random.Generator, split: int) -> Problem:
        pool = make(rng)
        return _drawn(pool, pool.task, n, rng)

    return DevelopmentSet(name, group, draw)


def _drawn(pool: Pool, cell: np.ndarray, n: int, rng: np.random.Generator) -> Problem:
    """n rows of every cell for training, and from the rest as many test rows of every task."""
    order = rng.permutation(len(cell))
    train = order[_rank(cell[order]) < n]
    rest = np.setdiff1d(order, train, assume_unique=True)
    rest = rng.permutation(rest)
    test = rest[_rank(pool.task[rest]) < MOST_TEST_ROWS // (int(pool.task.max()) + 1)]
    return _problem(pool, np.sort(train), np.sort(test))


def _rank(label: np.ndarray) -> np.ndarray:
    """How many rows with the same label come before each row."""
    return pd.Series(label).groupby(label).cumcount().to_numpy()


def _problem(pool: Pool, train: np.ndarray, test: np.ndarray) -> Problem:
    """Classes are those of training rows."""
    n_tasks, y = int(pool.task.max()) + 1, pool.y
    if y.dtype.kind == "f":
        return Problem("", "regression", n_tasks, 1, *(_rows(pool, y, rows) for rows in (train, test)))
    levels = np.unique(y[train])
    test = test[np.isin(y[test], levels)]
    y = np.searchsorted(levels, y)
    kind = "binary" if len(levels) == 2 else "multi-class"
    return Problem("", kind, n_tasks, len(levels), *(_rows(pool, y, rows) for rows in (train, test)))


def _rows(pool: Pool, y: np.ndarray, rows: np.ndarray) -> Rows:
    return Rows(pool.X[rows], pd.DataFrame(index=range(len(rows))), pool.task[rows], y[rows])


def _table(name: str, rng: np.random.Generator, split: int) -> Problem:
    """A table as in ``peers.py``, with fewer test rows."""
    return _fewer(load_set(name, split), rng)


def _fewer(problem: Problem, rng: np.random.Generator) -> Problem:
    order = rng.permutation(len(problem.test))[:MOST_TEST_ROWS]
    return replace(problem, test=problem.test.subset(np.sort(order)))


def _shuffled_table(name: str, rng: np.random.Generator, split: int) -> Problem:
    """A table whose rows are dealt to its tasks at random."""
    problem = load_set(name, split)
    parts = [replace(rows, task=rng.permutation(rows.task)) for rows in (problem.train, problem.test)]
    return _fewer(replace(problem, train=parts[0], test=parts[1]), rng)


def _one_task_apart(name: str, part: str, flipped: bool, rng: np.random.Generator, split: int) -> Problem:
    """One task's training labels flipped, or not; test rows are those of the other tasks."""
    rng = np.random.default_rng([digest(f"flipped {name} {part}"), split])
    if name in FLIPPED:
        problem = load_set(name, split, *FLIPPED[name])
    else:
        pool = pools.texts(name)
        problem = _drawn(pool, pool.task, 20, rng)
    task = rng.integers(problem.n_tasks)
    train, test = problem.train, problem.test
    y = np.where(flipped & (train.task == task), 1 - train.y, train.y)
    others = rng.permutation(np.flatnonzero(test.task != task))[:MOST_TEST_ROWS]
    return replace(problem, train=replace(train, y=y), test=test.subset(np.sort(others)))


def _lacking(make: Callable[[np.random.Generator], Pool], n: int, rng: np.random.Generator, split: int) -> Problem:
    """n training rows of every class and task, but none of one class in one task; test rows are those of that task."""
    pool = make(rng)
    problem = _drawn(pool, pool.task * (int(pool.y.max()) + 1) + pool.y, n, rng)
    task, missing = rng.integers(problem.n_tasks), rng.integers(problem.n_classes)
    train, test = problem.train, problem.test
    kept = np.flatnonzero((train.task != task) | (train.y != missing))
    return replace(problem, train=train.subset(kept), test=test.subset(np.flatnonzero(test.task == task)))
