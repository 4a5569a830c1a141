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
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_evenly, subsample_rows
from vmtl.inference.structure.covariance import MAX_DENSE, DenseCovariance, TaskCovariance, alike
from vmtl.inference.structure.evidence import Targets
from vmtl.inference.structure.groups import MAX_TASKS, read_groups
from vmtl.inference.structure.known_tasks import StructureBelief
from vmtl.inference.structure.mixing_weights import conditional, resemblance, structure_of
from vmtl.inference.structure.positions import TaskPositions, infer_positions
from vmtl.inference.structure.readings import CENTRE, read_structure
from vmtl.inference.structure.smooth_kernel import placed_covariance
from vmtl.model.mixing import TaskStructure

#: Most rows whose targets are looked at; most whose representations are, or so many of each task.
TARGET_ROWS, POSITION_ROWS, TASK_ROWS = 500, 2000, 20
#: Quantiles of the draws between which an interval lies: 90 % of them.
INTERVAL = (0.05, 0.95)

#: What may be shared: nothing; the same with every task; as the most probable structure says; or all that is probable.
Relatedness = Literal["independent", "uniform", "most probable", "averaged"]


class Sharing(Protocol):
    """How strongly tasks share, m, and how fast likeness falls with distance, gamma, as far as the rows tell them."""

    @property
    def strength(self) -> float: ...

    @property
    def decay(self) -> float: ...

    def draw_sharing(self, draws: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """(S,) draws of m, and of gamma."""


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

    def belief(self, sharing: Sharing) -> None:
        return None

    def structure(self, sharing: Sharing, seed: int) -> TaskStructure:
        return structure_of(self.at(sharing.strength, sharing.decay))


@dataclass(frozen=True)
class PlacedTasks:
    """Tasks with positions, some of which may stand apart."""

    positions: TaskPositions
    apart: Tensor  # (R, T) o_t in each reading
    share: Tensor  # (R,) the probabilities of the readings
    turns: Tensor  # (T,) pair by pair
    unit: float = math.exp(CENTRE[0])  # e, in units of which o_t is believed to be
    group: Tensor | None = None  # (R, T) g_t in each reading; None: no reading has groups
    gap: Tensor | None = None  # (R,) D

    @property
    def is_placed(self) -> bool:
        return self.positions.points.shape[1] > 0

    @cached_property
    def _likeness(self) -> Tensor:
        """(R, T, T) exp(-o_t - o_i - D [g_t != g_i]) in each reading."""
        loss = self.apart[:, :, None] + self.apart[:, None]
        if self.group is not None and self.gap is not None:
            loss = loss + self.gap[:, None, None] * (self.group[:, :, None] != self.group[:, None])
        return torch.exp(-loss)

    @cached_property
    def _together(self) -> Tensor:
        """(T, T) the average of the readings."""
        return torch.einsum("r,rti->ti", self.share, self._likeness)

    def at(self, strength: float, decay: float) -> TaskCovariance:
        points = self.positions.points
        if len(points) > MAX_DENSE:
            return placed_covariance(self.apart, self.share, points, decay).weaken(strength)
        return DenseCovariance(_table(self._together, self.positions.distances(), strength, decay))

    def belief(self, sharing: Sharing) -> StructureBelief:
        numbers = (self.unit, sharing.strength, sharing.decay, self.positions.edge)
        group = torch.zeros(self.apart.shape, dtype=torch.long) if self.group is None else self.group
        gap = torch.zeros_like(self.share) if self.gap is None else self.gap
        return StructureBelief(self.share, self.apart, group, gap, *torch.tensor(numbers, dtype=torch.float64))

    def structure(self, sharing: Sharing, seed: int) -> TaskStructure:
        """One draw is a reading by its probability, strength and decay by theirs, and distances as other rows of the
        same tasks would have shown them. Few rows make wide intervals about an even map, many rows narrow ones:
        unknown is not flat."""
        structure = structure_of(self.at(sharing.strength, sharing.decay))
        structure = replace(structure, positions=self.positions.points)
        if structure.alpha is None:
            return structure
        distances = self.positions.draws()  # (S, T, T)
        generator = torch.Generator().manual_seed(seed)
        reading = torch.multinomial(self.share, len(distances), replacement=True, generator=generator)
        strength, decay = sharing.draw_sharing(len(distances), generator)
        drawn = _table(self._likeness[reading], distances, strength[:, None, None], decay[:, None, None])
        alpha, strengths, _ = conditional(drawn)
        beta = resemblance(self.positions.distances())
        return replace(
            structure,
            beta=beta,
            alpha_interval=_interval(alpha, structure.alpha),
            beta_interval=_interval(resemblance(distances), beta),
            sharing_interval=_interval(strengths, structure.sharing),
        )


def _table(together: Tensor, distances: Tensor, strength: float | Tensor, decay: float | Tensor) -> Tensor:
    """B (..., T, T)."""
    between = strength * together * torch.exp(-decay * distances)
    return torch.where(torch.eye(distances.shape[-1], dtype=torch.bool), 1.0, between)


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
    readings = list(read_structure(targets, distances))
    unit = math.exp(float(readings[-1].numbers[0]))
    if len(known) == rows.n_tasks <= MAX_DENSE:
        readings += read_groups(targets, distances, tuple(readings))
    share = torch.tensor([reading.log_probability for reading in readings], dtype=torch.float64).softmax(0)
    if relatedness == "most probable":
        share = F.one_hot(share.argmax(), len(share)).double()
    apart = torch.stack([reading.of_all(known, rows.n_tasks).apart for reading in readings])
    nobody = torch.zeros(rows.n_tasks, dtype=torch.long)
    group = torch.stack([nobody if reading.group is None else reading.group for reading in readings])
    gap = torch.tensor([reading.gap for reading in readings], dtype=torch.float64)
    return PlacedTasks(positions, apart, share, turns, unit, group, gap)


def _some_tasks(rows: Rows, seed: int, turns: Tensor) -> tuple[Rows, Tensor]:
    """Rows whose targets are looked at, with their tasks numbered anew, and which tasks these are (K,)."""
    if rows.n_tasks <= MAX_TASKS:  # some rows of all of them
        some = rows.take(subsample_evenly(rows.task, TARGET_ROWS, seed))
    else:
        some = rows.take(subsample_rows(rows, TARGET_ROWS, seed, turns))
    known, task = some.task.unique(return_inverse=True)
    return replace(some, task=task, n_tasks=len(known)), known


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


def _interval(draws: Tensor, value: Tensor) -> Tensor:
    """(2, ...) the ends of most ``draws`` (S, ...), with the ``value`` between them: the middle of all need not be."""
    low, high = draws.quantile(torch.tensor(INTERVAL, dtype=torch.float64), 0)
    return torch.stack([torch.minimum(low, value), torch.maximum(high, value)])
