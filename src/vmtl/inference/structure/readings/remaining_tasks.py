"""What tasks that are too many to be looked at together say of a reading, and which of its groups they are of.

The search for who stands apart (``readings``) and for groups (``groups``) looks at the targets of some tasks. Each of
the others is predicted by those, one at a time, by the Gaussian law that the reading is:

    p(y_t | the tasks that were looked at, g) = N(y_t; C A^-1 y, s^2 (K_t - C A^-1 C'))

where y, A = the targets and their covariance of the tasks that were looked at (``evidence``); K_t = the covariance of
task t's own targets; C = that with the others' under B, if t is of group g. So a task finds its group by its targets,
before which a group is as probable as it is frequent. And all of them confirm a reading or refute it: what they were
predicted to be, added up, counts as the evidence of those that were looked at does. A task that was not looked at
stands apart as those that were do on average, exp(-o_t) = their mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl._utils.cholesky import cholesky
from vmtl.data.rows import Rows
from vmtl.inference.structure.readings.evidence import OutputScale, Targets
from vmtl.inference.structure.readings.groups import grouped_covariance
from vmtl.inference.structure.readings.standing_apart import Reading

#: Most tasks that are asked whether they confirm a reading, and nats by which a reading that lost is out of the game.
ASKED_TASKS, HOPELESS = 200, 15.0


@dataclass(frozen=True)
class WholeReading:
    """A reading of all tasks."""

    apart: Tensor  # (T,) o_t
    member: Tensor  # (T, G) how likely a task is of which group; one column where there are none
    gap: float  # D between groups
    log_probability: float
    price: float  # nats that o costs


def read_whole(
    readings: list[Reading], some: Rows, known: Tensor, others: Rows | None, points: Tensor
) -> list[WholeReading]:
    """``readings`` of the tasks ``known`` (K,), by rows ``some`` of them, as readings of all at ``points`` (T, Q).

    ``some`` has its tasks numbered from 0 to K - 1; ``others`` are rows of the remaining tasks, if there are any, by
    their own numbers.
    """
    looked_at = LookedAt(some, known, points)
    if others is None:
        return [looked_at.whole(reading, reading.log_probability) for reading in readings]
    parts = [torch.isin(others.task, tasks).nonzero().flatten() for tasks in others.task.unique().split(ASKED_TASKS)]
    asked = TaskTables.of(others.take(parts[0]), looked_at)
    bases = {id(reading): looked_at.predict(reading, asked) for reading in readings if reading.groups is None}
    whole = []
    for reading in readings:
        base = reading if reading.groups is None else reading.groups.base
        told = bases[id(base)] + looked_at.gain_of_groups(reading, asked)
        whole.append(looked_at.whole(reading, reading.log_probability + told))
    least = max(reading.log_probability for reading in whole) - HOPELESS
    pairs = [pair for pair in zip(readings, whole, strict=True) if pair[0].groups and pair[1].log_probability > least]
    laws = [(looked_at.law(reading), found.member) for reading, found in pairs]
    for part in parts if laws else ():
        tables = TaskTables.of(others.take(part), looked_at)
        for law, member in laws:
            member[tables.task] = law.log_density(tables).softmax(1)
    return whole


@dataclass(frozen=True)
class LookedAt:
    """The tasks that were looked at, among all."""

    some: Rows  # of K tasks
    known: Tensor  # (K,) which these are
    points: Tensor  # (T, Q) of all tasks

    def apart(self, reading: Reading) -> Tensor:
        """(T,) o_t of all tasks."""
        apart = reading.apart.new_full((len(self.points),), -float(torch.exp(-reading.apart).mean().log()))
        apart[self.known] = reading.apart
        return apart

    def whole(self, reading: Reading, log_probability: float) -> WholeReading:
        """The reading, where nothing is known of the groups of other tasks."""
        member = _member(reading)  # (K, G)
        everybody = member.mean(0).expand(len(self.points), -1).clone()
        everybody[self.known] = member
        return WholeReading(self.apart(reading), everybody, _gap(reading), log_probability, reading.price)

    def predict(self, reading: Reading, asked: TaskTables, *, own_levels: bool = False) -> float:
        """The log density of the targets of tasks that were not looked at."""
        return float(self.law(reading, own_levels=own_levels).log_density(asked).logsumexp(1).sum())

    def gain_of_groups(self, reading: Reading, asked: TaskTables) -> float:
        """The same with the groups of a reading, against its base; every task has a level of its own in both."""
        if reading.groups is None:
            return 0.0
        base = replace(reading.groups.base, numbers=reading.groups.ungrouped)
        return self.predict(reading, asked) - self.predict(base, asked, own_levels=True)

    def law(self, reading: Reading, *, own_levels: bool = False) -> _Law:
        """What the targets that were looked at say of others; with groups every task has a level of its own."""
        targets, points, numbers = Targets.of(self.some), self.points[self.known], reading.numbers
        if own_levels or reading.groups is not None:
            targets = targets.with_own_levels()
        member = _member(reading)
        group, gap = member.argmax(1), torch.tensor(_gap(reading), dtype=torch.float64)
        distances = torch.cdist(points, points).square()
        between, ridge = grouped_covariance(numbers, reading.apart, distances, group, gap), numbers[1].exp()
        factor = cholesky(targets.covariance(between, ridge))
        solved = torch.cholesky_solve(targets.outputs, factor)
        square = (targets.outputs * solved).sum() / targets.outputs.shape[1]
        return _Law(
            targets,
            factor,
            solved,
            ridge,
            (square / targets.weight.sum()).clamp_min(1e-30),
            numbers[0].exp() + self.apart(reading),
            numbers[2].exp(),
            self.known,
            member.T + (1 - member.T) * math.exp(-float(gap)),
            ((member.sum(0) + 1) / (len(member) + member.shape[1])).log(),
        )


def _member(reading: Reading) -> Tensor:
    """(K, G) indicators of the groups; one column where there are none."""
    if reading.groups is None:
        return torch.ones_like(reading.apart)[:, None]
    return F.one_hot(reading.groups.group).double()


def _gap(reading: Reading) -> float:
    return 0.0 if reading.groups is None else reading.groups.gap


@dataclass(frozen=True)
class TaskTables:
    """Rows of tasks that were not looked at, by task, with their inner products."""

    task: Tensor  # (M,)
    outputs: Tensor  # (M, N, C), 0 where there is no row
    weight: Tensor  # (M, N), 0 where there is no row
    own: Tensor  # (M, N, N) z z'
    cross: Tensor  # (M, N, n) z z' with the rows that were looked at
    away: Tensor  # (M, K) squared distances of the tasks

    @classmethod
    def of(cls, rows: Rows, beside: LookedAt) -> TaskTables:
        task, place = rows.task.unique(return_inverse=True)
        index, filled = replace(rows, task=place, n_tasks=len(task)).by_task  # (M, N)
        scale, x = OutputScale.of(beside.some), rows.x.double()[index] * filled[..., None]
        outputs = scale.outputs(rows.y[index]) * filled[..., None]
        weight = rows.weight.double()[index] / scale.weight * filled
        away = torch.cdist(beside.points[task], beside.points[beside.known]).square()
        return cls(task, outputs, weight, x @ x.mT, x @ beside.some.x.double().T, away)


@dataclass(frozen=True)
class _Law:
    """The targets that were looked at under one reading, ready to predict others."""

    targets: Targets
    factor: Tensor  # (n, n) of A
    solved: Tensor  # (n, C) A^-1 y
    ridge: Tensor  # () lambda
    variance: Tensor  # () s^2
    keeps: Tensor  # (T,) e + o_t
    decay: Tensor  # () gamma
    known: Tensor  # (K,)
    across: Tensor  # (G, K) what is left of a correlation with the known tasks by the groups
    log_frequency: Tensor  # (G,)

    def log_density(self, tables: TaskTables) -> Tensor:
        """(M, G) of each task's targets, and of its being of that group."""
        filled, level = tables.weight > 0, 1.0 - self.targets.level
        weight = torch.where(filled, tables.weight, 1.0)
        kept = self.keeps[tables.task][:, None] + self.keeps[self.known] + self.decay * tables.away  # (M, K)
        pairs = filled[:, :, None] & filled[:, None]
        own = torch.where(pairs, tables.own + 1, 0.0) + torch.diag_embed(torch.where(filled, self.ridge / weight, 1.0))
        count = tables.weight.sum(1)
        constant = 0.5 * (filled.sum(1) - count) * self.ridge.log() - 0.5 * count * self.variance.log()
        values = []
        for of_group in self.across:
            between = (torch.exp(-kept) * of_group)[:, self.targets.task]  # (M, n)
            cross = (tables.cross + level) * between[:, None] * filled[..., None]  # (M, N, n)
            values.append(constant + self._fit(cross, own, tables.outputs))
        return self.targets.free_outputs * torch.stack(values, 1) + self.log_frequency

    def _fit(self, cross: Tensor, own: Tensor, outputs: Tensor) -> Tensor:
        """(M,) log density of outputs (M, N, C) with these covariances, s and one constant aside."""
        half = torch.linalg.solve_triangular(self.factor, cross.flatten(0, 1).T, upper=False)  # (n, M N)
        half = half.T.view_as(cross)
        factor = cholesky(own - half @ half.mT)  # (M, N, N)
        rest = torch.linalg.solve_triangular(factor, outputs - cross @ self.solved, upper=False)
        log_det = factor.diagonal(dim1=1, dim2=2).log().sum(1)
        square: Tensor = rest.square().sum((1, 2)) / outputs.shape[-1]
        return -log_det - 0.5 * square / self.variance
