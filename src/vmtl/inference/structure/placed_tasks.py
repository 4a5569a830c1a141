"""Tasks that lie somewhere: what B is, and who learns from whom, under all readings of their targets.

    B_ti = m exp(-o_t - o_i - gamma |p_t - p_i|^2 - D [g_t != g_i]),    B_tt = 1

where p = the tasks' positions; o, g, D = who stands apart and which groups there are, in each of several readings, of
which B is the average; m, gamma = strength and decay, which the likelihood of the model decides on
(``vmtl.inference.exact.scales``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl.inference.structure.covariance import MAX_DENSE, DenseCovariance, TaskCovariance
from vmtl.inference.structure.known_tasks import StructureBelief
from vmtl.inference.structure.mixing_weights import conditional, resemblance, structure_of
from vmtl.inference.structure.positions.task_positions import TaskPositions
from vmtl.inference.structure.readings.partition_prior import log_partition_prior
from vmtl.inference.structure.readings.standing_apart import CENTRE
from vmtl.inference.structure.smooth_kernel import placed_covariance
from vmtl.results.relatedness import TaskStructure

#: Readings that are less probable by least squares than this part of the most probable one are not judged.
LEAST_SHARE = 3e-4
#: Quantiles of the draws between which an interval lies: 90 % of them.
INTERVAL = (0.05, 0.95)


class Sharing(Protocol):
    """How strongly tasks share, m, and how fast likeness falls with distance, gamma, as far as the rows tell them."""

    @property
    def strength(self) -> float: ...

    @property
    def decay(self) -> float: ...

    def draw_sharing(self, draws: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """(S,) draws of m, and of gamma."""


@dataclass(frozen=True)
class PlacedTasks:
    """Tasks with positions, some of which may stand apart."""

    positions: TaskPositions
    apart: Tensor  # (R, T) o_t in each reading
    share: Tensor  # (R,) the probabilities of the readings
    turns: Tensor  # (T,) pair by pair
    unit: float = math.exp(CENTRE[0])  # e, in units of which o_t is believed to be
    member: Tensor | None = None  # (R, T, G) how likely a task is of which group, in each reading; None: no groups
    gap: Tensor | None = None  # (R,) D
    price: Tensor | None = None  # (R,) nats that o costs

    @property
    def is_placed(self) -> bool:
        return self.positions.points.shape[1] > 0

    def most_probable(self) -> PlacedTasks:
        return replace(self, share=F.one_hot(self.share.argmax(), len(self.share)).double())

    @property
    def _worth_judging(self) -> Tensor:
        """(J,) numbers of the readings that are judged: the first, as the tasks lie, and what is not too improbable."""
        return (
            ((self.share >= LEAST_SHARE * self.share.max()) | (torch.arange(len(self.share)) == 0)).nonzero().flatten()
        )

    def readings(self, tasks: Tensor) -> list[tuple[PlacedTasks, float]]:
        price = torch.zeros_like(self.share) if self.price is None else self.price
        if self.member is not None:
            price = price - log_partition_prior(self.member[:, tasks])
        return [
            (replace(self, share=F.one_hot(number, len(self.share)).double()), float(price[number]))
            for number in self._worth_judging
        ]

    def judged(self, share: Tensor) -> PlacedTasks:
        return replace(self, share=torch.zeros_like(self.share).index_copy(0, self._worth_judging, share))

    @cached_property
    def _likeness(self) -> Tensor:
        """(R, T, T) exp(-o_t - o_i - D [g_t != g_i]) in each reading, expected where groups are not sure."""
        return _likeness(self.apart, self.member, self.gap)

    @cached_property
    def _together(self) -> Tensor:
        """(T, T) the average of the readings."""
        return torch.einsum("r,rti->ti", self.share, self._likeness)

    def at(self, strength: float, decay: float) -> TaskCovariance:
        points = self.positions.points
        if len(points) > MAX_DENSE:
            return placed_covariance(self.apart, self.share, points, decay, self.member, self.gap).weaken(strength)
        return DenseCovariance(_table(self._together, self.positions.distances(), strength, decay))

    def belief(self, sharing: Sharing) -> StructureBelief:
        numbers = (self.unit, sharing.strength, sharing.decay, self.positions.edge)
        member = torch.ones_like(self.apart)[:, :, None] if self.member is None else self.member
        gap = torch.zeros_like(self.share) if self.gap is None else self.gap
        return StructureBelief(self.share, self.apart, member, gap, *torch.tensor(numbers, dtype=torch.float64))

    def _drawn(self, reading: Tensor, generator: torch.Generator) -> Tensor:
        """(S, T, T) the likeness in readings (S,), every task being of one group."""
        if self.member is None or self.gap is None:
            return self._likeness[reading]
        member = self.member[reading]  # (S, T, G)
        group = torch.multinomial(member.flatten(0, 1), 1, generator=generator).view(member.shape[:2])
        return _likeness(self.apart[reading], F.one_hot(group, member.shape[2]).double(), self.gap[reading])

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
        drawn = _table(self._drawn(reading, generator), distances, strength[:, None, None], decay[:, None, None])
        alpha, strengths, _ = conditional(drawn)
        beta = resemblance(self.positions.distances())
        return replace(
            structure,
            beta=beta,
            alpha_interval=_interval(alpha, structure.alpha),
            beta_interval=_interval(resemblance(distances), beta),
            sharing_interval=_interval(strengths, structure.sharing),
        )


def _likeness(apart: Tensor, member: Tensor | None, gap: Tensor | None) -> Tensor:
    """(R, T, T) of o = ``apart`` (R, T), groups (R, T, G) and D = ``gap`` (R,)."""
    kept = torch.exp(-apart[:, :, None] - apart[:, None])
    if member is None or gap is None:
        return kept
    same = member @ member.mT
    return kept * (same + torch.exp(-gap)[:, None, None] * (1 - same))


def _table(together: Tensor, distances: Tensor, strength: float | Tensor, decay: float | Tensor) -> Tensor:
    """B (..., T, T)."""
    between = strength * together * torch.exp(-decay * distances)
    return torch.where(torch.eye(distances.shape[-1], dtype=torch.bool), 1.0, between)


def _interval(draws: Tensor, value: Tensor) -> Tensor:
    """(2, ...) the ends of most ``draws`` (S, ...), with the ``value`` between them: the middle of all need not be."""
    low, high = draws.quantile(torch.tensor(INTERVAL, dtype=torch.float64), 0)
    return torch.stack([torch.minimum(low, value), torch.maximum(high, value)])
