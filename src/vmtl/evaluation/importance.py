"""Which columns drive predictions: what is lost when one is shuffled among the rows of a task."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm

from vmtl._utils.types import Array, MatrixLike, VectorLike
from vmtl.estimators.base import BaseTaskEstimator
from vmtl.estimators.classification import BaseTaskClassifier
from vmtl.estimators.inputs.targets import check_targets, class_numbers
from vmtl.estimators.inputs.unknown_tasks import RowTasks
from vmtl.evaluation.intervals import Interval, of_mean

if TYPE_CHECKING:
    import pandas as pd

Estimator = BaseTaskEstimator

#: Rows that are shuffled at most and at least, where there are as many, and numbers that are predicted from in all.
MOST_ROWS, LEAST_ROWS, MOST_CELLS = 1000, 100, 2e7
#: Columns that are looked at closely.
MOST_COLUMNS = 40
#: Tells what is finished: a text.
Done = Callable[[str], None]


@dataclass(frozen=True)
class Importance:
    """What every column is worth to a model, the most important first.

    columns : names as in the table; tasks : names of the tasks that have rows.
    overall : of all rows; of_tasks : column by column, of every task.
    unit : what the numbers are; n_columns, n_rows : how many there were to look at, and rows that were shuffled.
    """

    columns: tuple[str, ...]
    tasks: tuple[str, ...]
    overall: tuple[Interval, ...]
    of_tasks: tuple[tuple[Interval, ...], ...]
    unit: str
    n_columns: int
    n_rows: int

    def table(self) -> pd.DataFrame:
        """One line per column and task, ``task`` None for all rows: ``importance`` and its 95 % interval."""
        import pandas as pd

        lines = [
            (column, task, interval.value, interval.low, interval.high)
            for column, overall, of_tasks in zip(self.columns, self.overall, self.of_tasks, strict=True)
            for task, interval in zip((None, *self.tasks), (overall, *of_tasks), strict=True)
        ]
        return pd.DataFrame(lines, columns=["column", "task", "importance", "low", "high"])


def column_importance(
    model: Estimator,
    X: MatrixLike,
    y: VectorLike | None = None,
    tasks: VectorLike | None = None,
    *,
    repeats: int = 5,
    seed: int = 0,
    done: Done = lambda text: None,
) -> Importance:
    """Permutation importance of the columns of X, overall and task by task.

    A column is shuffled among the rows of each task: with labels its importance is how much the log likelihood of a row
    falls, in nats; without, how much predictions change. See the page of scores for what that means.

    Parameters
    ----------
    model : estimator
        A fitted estimator.
    X, y, tasks : array-likes of n rows
        Rows that were not in training, their targets if they are known, and their tasks where there are several.
    repeats, seed : int
        How often each column is shuffled, and where the shuffles come from.
    done : callable, optional
        Called with the name of each column when it is finished.
    """
    if repeats < 1:
        raise ValueError(f"repeats is {repeats}; shuffle every column at least once.")
    x, row_tasks = model.read_rows(X, tasks=tasks)
    if not len(x):
        raise ValueError("X has no rows; give at least one.")
    target = None if y is None else _encoded(model, y, len(x))
    groups = column_groups(model)
    cells = repeats * min(len(groups), MOST_COLUMNS) * x.shape[1]
    most = int(np.clip(MOST_CELLS / cells, LEAST_ROWS, MOST_ROWS))
    kept = np.random.default_rng(seed).permutation(len(x))[:most]
    rows = ReadRows(model, x[kept], row_tasks[kept], None if target is None else target[kept])
    wanted = promising(rows.take(LEAST_ROWS), groups, seed, done)
    drops = {name: rows.drops(groups[name], repeats, seed + 1, done, name) for name in wanted}
    return _summary(model, rows, drops, y is not None, len(groups))


def _summary(model: Estimator, rows: ReadRows, drops: dict[str, Array], labelled: bool, n_columns: int) -> Importance:
    """What shuffling each column does to every row (n,), as means with intervals, the largest first."""
    order = sorted(drops, key=lambda name: -drops[name].mean())
    codes = np.maximum(rows.tasks.codes, -1)
    present = np.unique(codes)
    return Importance(
        tuple(order),
        tuple("(unknown)" if t < 0 else str(model.tasks_[t]) for t in present),
        tuple(of_mean(drops[name]) for name in order),
        tuple(tuple(of_mean(drops[name][codes == t]) for t in present) for name in order),
        _unit(model, labelled),
        n_columns,
        len(codes),
    )


def promising(rows: ReadRows, groups: dict[str, Array], seed: int, done: Done) -> list[str]:
    """The columns to look at closely: all, or where they are many those that matter most to a few ``rows``."""
    names = list(groups)
    if len(names) <= MOST_COLUMNS:
        return names

    def best(parts: list[list[str]], most: int) -> list[list[str]]:
        worth = [rows.drops(np.concatenate([groups[n] for n in part]), 1, seed, done, part[0]).mean() for part in parts]
        return [parts[place] for place in np.argsort(-np.array(worth), kind="stable")[:most]]

    size = math.isqrt(len(names))
    blocks = best([names[start : start + size] for start in range(0, len(names), size)], -(-3 * MOST_COLUMNS // size))
    return [name for part in best([[name] for block in blocks for name in block], MOST_COLUMNS) for name in part]


def column_groups(model: Estimator) -> dict[str, Array]:
    """For every column as the user knows it, the numbers that the model reads of it."""
    if model.preprocessor_ is not None:
        return model.preprocessor_.outputs_of_columns()
    names = getattr(model, "feature_names_in_", None)
    of_array = [f"x{j}" for j in range(model.n_features_in_)]
    return {str(name): np.array([j]) for j, name in enumerate(of_array if names is None else names)}


@dataclass(frozen=True)
class ReadRows:
    """Rows as the model reads them, and their targets if they are known."""

    model: Estimator
    x: Array  # (n, D)
    tasks: RowTasks  # of n rows
    target: Array | None  # (n,)

    def take(self, most: int) -> ReadRows:
        target = None if self.target is None else self.target[:most]
        return ReadRows(self.model, self.x[:most], self.tasks[slice(most)], target)

    def drops(self, columns: Array, repeats: int, seed: int, done: Done, name: str) -> Array:
        """(n,) what shuffling ``columns`` does to every row, averaged over shuffles."""
        rng = np.random.default_rng(seed)
        shuffled = np.concatenate([self.x] * repeats)
        for part in np.split(shuffled, repeats):  # views: every repeat in place
            part[:, columns] = self.x[_shuffle_within(self.tasks.codes, rng)][:, columns]
        after = self._predict(shuffled, self.tasks[np.tile(np.arange(len(self.tasks)), repeats)])
        done(name)
        repeated = [np.concatenate([values] * repeats) for values in self.prediction]
        change = self._change(repeated, after, repeats)
        return np.asarray(change.reshape(repeats, -1).mean(axis=0))

    @cached_property
    def prediction(self) -> list[Array]:
        """Of the rows as they are."""
        return self._predict(self.x, self.tasks)

    def _predict(self, x: Array, tasks: RowTasks) -> list[Array]:
        """Probabilities (n, C), or mean and deviation (n,) each."""
        return self.model.predict_rows(x, tasks)

    def _change(self, before: list[Array], after: list[Array], repeats: int) -> Array:
        if self.target is None:
            distance = np.abs(after[0] - before[0])
            return np.asarray(0.5 * distance.sum(axis=1) if distance.ndim == 2 else distance)
        target = np.tile(self.target, repeats)
        return _log_likelihood(before, target) - _log_likelihood(after, target)


def _shuffle_within(codes: Array, rng: np.random.Generator) -> Array:
    """(n,) for every row the number of another row of its task, each once."""
    order = np.argsort(codes, kind="stable")
    mixed = np.lexsort((rng.random(len(codes)), codes))
    donor = np.empty(len(codes), dtype=np.int64)
    donor[order] = mixed
    return donor


def _log_likelihood(prediction: list[Array], target: Array) -> Array:
    if len(prediction) == 1:
        p = prediction[0][np.arange(len(target)), target]
        return np.asarray(np.log(np.maximum(p, 1e-12)))
    return np.asarray(norm.logpdf(target, *prediction))


def _encoded(model: Estimator, y: VectorLike, n_rows: int) -> Array:
    target = class_numbers(y, model.classes_) if isinstance(model, BaseTaskClassifier) else check_targets(y)
    if len(target) != n_rows:
        raise ValueError(f"y has {len(target)} targets but X has {n_rows} rows; give one target per row.")
    return target


def _unit(model: Estimator, labelled: bool) -> str:
    if labelled:
        return "nats per row"
    return "change of probability" if isinstance(model, BaseTaskClassifier) else "change in the unit of the target"
