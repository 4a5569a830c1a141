"""Who learns from whom: mixing weights as arrows, and what they look like where there is nothing to learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from vmtl._utils.types import Array, MatrixLike
from vmtl.estimators.base import BaseTaskEstimator
from vmtl.report.style import short

if TYPE_CHECKING:
    import pandas as pd

    #: The lower and the upper ends of a (T, T) map.
    MapInterval = tuple[pd.DataFrame, pd.DataFrame]


@dataclass(frozen=True)
class Arrow:
    """``learner`` takes the share ``weight`` of its prior from ``teacher`` and follows it by r = ``sharing``."""

    learner: str
    teacher: str
    weight: float
    interval: tuple[float, float] | None = None
    sharing: float = 1.0

    def __str__(self) -> str:
        return f"{short(self.learner, 40)} learns from {short(self.teacher, 40)} {self.share()}"

    @property
    def strength(self) -> float:
        """r alpha, how much of the teacher arrives: rows of alpha sum to 1, also that of a task that ignores all."""
        return self.sharing * self.weight

    def share(self) -> str:
        """The weight, with its interval if it has one."""
        return with_ends(self.weight, self.interval)


@dataclass(frozen=True)
class Control:
    """Mixing weights of refits in which the tasks mean nothing: (R, T, T) for R refits.

    shuffled : rows were dealt to the tasks at random, so that no task is nearer to one than to another.
    unrelated : targets were shuffled inside each task, so that no task has anything to teach.
    """

    shuffled: Array
    unrelated: Array

    @property
    def noise(self) -> float:
        """The largest weight that appears although no task is nearer than another, or none has anything to teach."""
        return float(max(self.shuffled.max(), self.unrelated.max()))


def with_ends(value: float, interval: tuple[float, float] | None) -> str:
    """``0.50 [0.30, 0.70]``, or the number alone."""
    return f"{value:.2f}" + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval is not None else "")


def arrows(weights: pd.DataFrame, interval: MapInterval | None = None, sharing: Array | None = None) -> list[Arrow]:
    """The off-diagonal entries of a (T, T) DataFrame, strongest first; none for a method without mixing weights.

    Parameters
    ----------
    weights : DataFrame of shape (T, T)
        Mixing weights, such as ``alpha_``: row t says how much task t takes from each other task.
    interval : pair of DataFrames of shape (T, T), default=None
        Lower and upper ends of the weights, such as ``alpha_interval_``.
    sharing : array of shape (T,), default=None
        How much each task follows the others, such as ``sharing_``; None counts all alike.
    """
    values, names = np.asarray(weights), [str(name) for name in weights.index]
    if not values.any():
        return []
    ends = None if interval is None else np.stack([np.asarray(end) for end in interval], -1)  # (T, T, 2)

    r = np.ones(len(names)) if sharing is None else np.asarray(sharing)

    def arrow(t: int, i: int) -> Arrow:
        both = None if ends is None else (float(ends[t, i, 0]), float(ends[t, i, 1]))
        return Arrow(names[t], names[i], float(values[t, i]), both, float(r[t]))

    pairs = [(t, i) for t in range(len(names)) for i in range(len(names)) if t != i]
    return sorted((arrow(t, i) for t, i in pairs), key=lambda arrow: -arrow.strength)


def even_weight(n_tasks: int) -> float:
    """1 / (T - 1): the weight of every other task for a learner that prefers none.

    Parameters
    ----------
    n_tasks : int
        T, the number of tasks.
    """
    return 1 / max(n_tasks - 1, 1)


def fit_control(
    model: BaseTaskEstimator,
    X: MatrixLike,
    y: Array,
    tasks: Array,
    repeats: int = 3,
    seed: int = 0,
    done: Callable[[], None] = lambda: None,
) -> Control:
    """Refit ``model`` on training rows with shuffled tasks, and with targets shuffled inside each task.

    Parameters
    ----------
    model : MultiTaskClassifier or MultiTaskRegressor
        A fitted estimator.
    X : array-like, sparse matrix or DataFrame of shape (n, D)
        Training rows.
    y : array of shape (n,)
        Their targets.
    tasks : array of shape (n,)
        Their tasks.
    repeats : int, default=3
        Refits of each kind.
    seed : int, default=0
        The seed of the draw.
    done : callable, optional
        Called after every refit.
    """
    rng = np.random.default_rng(seed)
    shuffled, unrelated = [], []
    for _ in range(repeats):
        dealt = _shuffle_inside(tasks, y if hasattr(model, "classes_") else np.zeros(len(y)), rng)
        shuffled.append(_refit_alpha(model, X, y, dealt))
        done()
        unrelated.append(_refit_alpha(model, X, _shuffle_inside(y, tasks, rng), tasks))
        done()
    return Control(np.stack(shuffled), np.stack(unrelated))


def _shuffle_inside(values: Array, group: Array, rng: np.random.Generator) -> Array:
    """``values`` permuted among the rows of each group."""
    out = np.array(values)
    for name in dict.fromkeys(group.tolist()):
        members = np.flatnonzero(group == name)
        out[members] = out[rng.permutation(members)]
    return out


def _refit_alpha(model: BaseTaskEstimator, X: MatrixLike, y: Array, tasks: Array) -> Array:
    weights: Array = clone(model).set_params(verbose=0).fit(X, y, tasks=tasks).alpha_.to_numpy()
    return weights
