"""Who learns from whom among hundreds of tasks: no map of all pairs, but how many teachers a task has, and which."""

from __future__ import annotations

from dataclasses import dataclass

from vmtl._utils.messages import counted
from vmtl.data.subsampling import evenly_spaced
from vmtl.estimators.base import BaseTaskEstimator
from vmtl.report.arrows import Arrow

#: Most tasks whose map can be looked at.
MOST_MAPPED = 300
#: Tasks whose teachers are looked at, where they are more.
MOST_LEARNERS = 24
#: A task with more than this share of all others as teachers prefers none.
EVERYBODY = 0.9


@dataclass(frozen=True)
class Crowd:
    """Some of many tasks, with the strongest teacher of each, and how many teachers they have."""

    arrows: list[Arrow]  # the strongest of every learner that was looked at, by learner
    teachers: float  # the mean of 1 / sum_i alpha_ti^2: so many, if all of them had the same weight
    n_tasks: int
    axes: int | None  # along which the tasks lie; None where no positions were inferred

    @property
    def is_flat(self) -> bool:
        """Whether a task learns from all others alike."""
        return self.teachers > EVERYBODY * (self.n_tasks - 1)

    def sentence(self) -> str:
        """What was found, in words."""
        where = (
            ""
            if self.axes is None
            else f" By their representations they lie along {counted(self.axes, 'axis', 'axes')}."
        )
        if self.axes == 0:
            where = " By their representations no task stands out."
        if self.is_flat:
            return f"Each of {self.n_tasks:,} tasks learns from all others alike.{where}"
        return f"Each of {self.n_tasks:,} tasks learns from about {self.teachers:,.0f} of the others.{where}"


def read_crowd(model: BaseTaskEstimator) -> Crowd | None:
    """What can be said of the tasks of a fitted model; None for a method without mixing weights.

    Parameters
    ----------
    model : MultiTaskClassifier or MultiTaskRegressor
        A fitted estimator of many tasks.
    """
    n_tasks = len(model.tasks_)
    strongest, counts = [], []
    for place in evenly_spaced(n_tasks, MOST_LEARNERS):
        task = model.tasks_[place]
        weights = model.teachers(task, n_tasks)
        if not weights.any():
            return None
        strongest.append(Arrow(str(task), str(weights.index[0]), float(weights.iloc[0])))
        counts.append(1 / float(weights.pow(2).sum()))
    positions = getattr(model, "positions_", None)
    return Crowd(strongest, sum(counts) / len(counts), n_tasks, None if positions is None else positions.shape[1])
