"""Who learns from whom.

Given everybody else, the weights of task t are

    w_t | others ~ N(sum_i r_t alpha_ti w_i, v_t),    r_t alpha_ti = -P_ti / P_tt,    P = B^-1

where B (T, T) is the covariance of one weight across tasks. That is the prior of Eq. 6, with mixing weights that come
out of one joint law of all tasks instead of being parameters of their own: alpha is what B says, and B is what
predictions are made with,

    B_ti = m exp(-o_t - o_i - gamma |p_t - p_i|^2),    B_tt = 1

The paper draws alpha by the Gumbel-Softmax, because nobody knows from whom a task should learn. Here that uncertainty
is over where the tasks lie (p, ``positions``), who stands apart (o, ``readings``), how strongly they share (m) and how
fast likeness falls with distance (gamma). Of the last two this room only knows what B would be: the likelihood of the
model itself decides on them (``vmtl.inference.exact.scales``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl.data.rows import Rows
from vmtl.data.subsampling import rank_in_task, subsample_evenly, subsample_rows
from vmtl.inference.structure.covariance import TaskCovariance, alike
from vmtl.inference.structure.known_tasks import StructureBelief
from vmtl.inference.structure.mixing_weights import structure_of
from vmtl.inference.structure.placed_tasks import PlacedTasks, Sharing
from vmtl.inference.structure.positions.task_positions import infer_positions
from vmtl.inference.structure.readings.evidence import Targets
from vmtl.inference.structure.readings.groups import read_groups
from vmtl.inference.structure.readings.remaining_tasks import read_whole
from vmtl.inference.structure.readings.standing_apart import read_structure
from vmtl.results.relatedness import TaskStructure

#: Most rows whose targets are looked at; most whose representations are, or so many of each task.
TARGET_ROWS, POSITION_ROWS, TASK_ROWS = 500, 2000, 20
#: Most tasks that are all looked at, if with few rows each; of more, some of them.
MAX_TASKS = 60

#: What may be shared: nothing; the same with every task; as the most probable structure says; or all that is probable.
Relatedness = Literal["independent", "uniform", "most probable", "averaged"]


class StructurePosterior(Protocol):
    """What the rows say about who is like whom, before strength and decay are known."""

    @property
    def is_placed(self) -> bool:
        """Whether gamma matters."""

    @property
    def turns(self) -> Tensor | None:
        """(T,) in which order tasks are looked at where only some can be; None: at random."""

    def at(self, strength: float, decay: float) -> TaskCovariance:
        """B of the strength m and the decay gamma."""

    def most_probable(self) -> StructurePosterior:
        """The most probable reading alone."""

    def readings(self, tasks: Tensor) -> Sequence[tuple[StructurePosterior, float]]:
        """The readings that are worth a judgement, each alone, and the nats that each costs by what it says of
        ``tasks`` (K,) before their rows are looked at."""

    def judged(self, share: Tensor) -> StructurePosterior:
        """The same with other probabilities of the ``readings`` (R,)."""

    def belief(self, sharing: Sharing) -> StructureBelief | None:
        """What the correlations of a further task follow from; None where tasks have no positions."""

    def structure(self, sharing: Sharing, seed: int) -> TaskStructure:
        """Who learns from whom under B in the middle of what is probable; with intervals where there are positions."""


@dataclass(frozen=True)
class KnownCovariance:
    """B is known but for its strength."""

    covariance: TaskCovariance

    @property
    def is_placed(self) -> bool:
        return False

    @property
    def turns(self) -> None:
        return None

    def at(self, strength: float, decay: float) -> TaskCovariance:
        return self.covariance.weaken(strength)

    def most_probable(self) -> KnownCovariance:
        return self

    def readings(self, tasks: Tensor) -> list[tuple[KnownCovariance, float]]:
        return [(self, 0.0)]

    def judged(self, share: Tensor) -> KnownCovariance:
        return self

    def belief(self, sharing: Sharing) -> None:
        return None

    def structure(self, sharing: Sharing, seed: int) -> TaskStructure:
        return structure_of(self.at(sharing.strength, sharing.decay))


def infer_structure(rows: Rows, relatedness: Relatedness, seed: int) -> StructurePosterior:
    """The structure of the tasks of the feature rows."""
    rows = rows.cpu()
    if relatedness == "independent" or rows.n_tasks == 1:
        return KnownCovariance(alike(rows.n_tasks, 0.0))
    if relatedness == "uniform" or rows.n_tasks < 3:
        return KnownCovariance(alike(rows.n_tasks, 1.0))
    limit = max(POSITION_ROWS, TASK_ROWS * rows.n_tasks)
    positions = infer_positions(rows.take(subsample_evenly(rows.task, limit, seed)), seed)
    turns = pair_by_pair(positions.points, seed)
    some, known = _some_tasks(rows, seed, turns)
    targets, distances = Targets.of(some), positions.distances(known)
    together, some_apart = read_structure(targets, distances)
    unit = math.exp(float(some_apart.numbers[0]))
    readings = [together, *([some_apart] if some_apart.is_apart else []), *read_groups(targets, distances, together)]
    whole = read_whole(readings, some, known, _remaining_rows(rows, known, seed), positions.points)
    share = torch.tensor([reading.log_probability for reading in whole], dtype=torch.float64).softmax(0)
    apart = torch.stack([reading.apart for reading in whole])
    gap, price = (share.new_tensor([getattr(one, name) for one in whole]) for name in ("gap", "price"))
    n_groups = max(reading.member.shape[1] for reading in whole)
    member = torch.stack([F.pad(reading.member, (0, n_groups - reading.member.shape[1])) for reading in whole])
    return PlacedTasks(positions, apart, share, turns, unit, member, gap, price)


def _some_tasks(rows: Rows, seed: int, turns: Tensor) -> tuple[Rows, Tensor]:
    """Rows whose targets are looked at, with their tasks numbered anew, and which tasks these are (K,)."""
    if rows.n_tasks <= MAX_TASKS:  # some rows of all of them
        some = rows.take(subsample_evenly(rows.task, TARGET_ROWS, seed))
    else:
        some = rows.take(subsample_rows(rows, TARGET_ROWS, seed, turns))
    known, task = some.task.unique(return_inverse=True)
    return replace(some, task=task, n_tasks=len(known)), known


def _remaining_rows(rows: Rows, known: Tensor, seed: int) -> Rows | None:
    """Some rows of each task that is not ``known`` (K,); None where there is none."""
    if len(known) == rows.n_tasks:
        return None
    rank = torch.where(torch.isin(rows.task, known), TASK_ROWS, rank_in_task(rows.task, seed))
    return rows.take((rank < TASK_ROWS).nonzero().flatten())


def pair_by_pair(points: Tensor, seed: int) -> Tensor:
    """(T,) the turn of every task at ``points`` (T, Q): one at random, then the nearest to it, then another one.

    How likeness falls with distance shows where tasks are near, and few of many at random need not be.
    """
    left = torch.randperm(len(points), generator=torch.Generator().manual_seed(seed))
    taken: list[int] = []
    while len(left) > 1 and len(taken) < TARGET_ROWS:  # more are never asked for
        first, left = left[0], left[1:]
        nearest = int((points[left] - points[first]).square().sum(-1).argmin())
        taken += [int(first), int(left[nearest])]
        left = torch.cat([left[:nearest], left[nearest + 1 :]])
    turns = torch.empty(len(points), dtype=torch.long)
    turns[torch.cat([torch.tensor(taken, dtype=torch.long), left])] = torch.arange(len(points))
    return turns
