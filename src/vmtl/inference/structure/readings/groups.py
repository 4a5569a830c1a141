"""Further readings of the tasks: they fall into groups that only their targets tell.

Two tasks may lie in one place and still follow different rules: the same patients, another treatment. Then the weights
of two tasks are correlated like

    B_ti = exp(-e_t - e_i - gamma |p_t - p_i|^2 - D [g_t != g_i])

where g_t = the group of task t, one of G; D = the gap between groups. It is positive definite as a product of such
matrices: the last factor is exp(-D) everywhere and 1 - exp(-D) more within groups.

The groups are found by the slope of the evidence in B: its first eigenvectors tell which tasks want to be more alike
than they are, then tasks move to where the evidence rises. Before any row is seen all ways to deal T tasks to G groups
are alike, G^-T each, and one group more is believed in with odds of 1 to 9: what is found by looking at all ways is
paid for. There are two groups or three, and more as long as one more is more probable. Every task has a level of its
own here: tasks in which a class is frequent are no group. Each reading comes twice, on tasks as they lie and with
those apart that stand apart (``readings``). Tasks that are too many to be looked at join later (``remaining_tasks``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl._utils.minimise import minimise
from vmtl.inference.structure.readings.evidence import Targets, log_evidence
from vmtl.inference.structure.readings.standing_apart import Groups, Reading, log_prior, task_covariance

#: Fewest tasks that are dealt to groups, and most groups.
LEAST_TASKS, MAX_GROUPS = 4, 8
#: Odds, before any row is seen, against one group more.
ODDS = 9.0
#: Times that numbers are fitted to groups and groups to numbers; moves at most each time, steps of one search.
ROUNDS, MOVES, STEPS = 2, 12, 10
#: All tasks move that gain more than this part of the one that gains most, if that helps; else one of so many.
MANY, SINGLES = 0.3, 3
#: Nats below which nobody moves.
LEAST_GAIN = 1e-3
#: Nats by which groups may be less probable than none before more of them are not tried.
HOPELESS = 15.0
#: Standing apart by less than this is the same as not at all.
LEAST_APART = 0.05


def read_groups(targets: Targets, distances: Tensor, bases: tuple[Reading, ...]) -> list[Reading]:
    """Groups on each of the ``bases``, as many as are not hopeless; none of too few tasks at squared ``distances``."""
    if len(distances) < LEAST_TASKS:
        return []
    targets, (first, *others) = targets.with_own_levels(), bases
    different = [base for base in others if float((base.apart - first.apart).abs().max()) > LEAST_APART]
    return [found for base in (first, *different) for found in GroupSearch(targets, distances, base).find_all()]


def grouped_covariance(numbers: Tensor, apart: Tensor, distances: Tensor, group: Tensor, gap: Tensor) -> Tensor:
    """B (T, T) with D = ``gap`` between the groups (T,)."""
    other = (group[:, None] != group).to(distances)
    return task_covariance(numbers, apart, distances) * torch.exp(-gap * other)


@dataclass(frozen=True)
class _Grouping:
    """Groups with the numbers that suit them, and what the evidence says of them."""

    group: Tensor  # (T,)
    numbers: Tensor  # (3,) of the reading
    log_gap: Tensor  # ()
    value: float  # log evidence and log belief of the numbers
    slope: Tensor  # (T, T) of the evidence in B


def first_guess(pull: Tensor, n_groups: int) -> Tensor:
    """(T,) groups by the first eigenvectors of ``pull`` (T, T), what the evidence gains where pairs are more alike.

    Each group begins with the task that is farthest from those that others began with; the rest go to the nearest.
    """
    centring = torch.eye(len(pull), dtype=pull.dtype) - 1 / len(pull)
    values, vectors = torch.linalg.eigh(centring @ pull @ centring)
    axes = vectors[:, 1 - n_groups :] * values[1 - n_groups :].clamp_min(0).sqrt()  # (T, G - 1)
    squares = axes.square().sum(-1)
    begin = [int(squares.argmax())]
    away = (axes - axes[begin[0]]).square().sum(-1)[None]  # (groups so far, T)
    while len(begin) < n_groups:
        begin.append(int(away.amin(0).argmax()))
        away = torch.cat([away, (axes - axes[begin[-1]]).square().sum(-1)[None]])
    nearest: Tensor = away.argmin(0)
    return nearest


@dataclass(frozen=True)
class GroupSearch:
    """The search for groups among the tasks of a base."""

    targets: Targets
    distances: Tensor  # (T, T)
    base: Reading

    def find_all(self) -> list[Reading]:
        """Two groups and three, unless two are hopeless, and more while one more is more probable."""
        found = [self.find(2)]
        if found[0].log_probability < self.base.log_probability - HOPELESS:
            return found
        found.append(self.find(3))
        most = min(MAX_GROUPS, len(self.distances))
        while len(found) + 1 < most and found[-1].log_probability > found[-2].log_probability:
            found.append(self.find(len(found) + 2))
        return found

    def find(self, n_groups: int) -> Reading:
        """The tasks in so many groups."""
        best = self.fit(replace(self.alone, group=first_guess(self.pull(self.alone), n_groups)))
        for _ in range(ROUNDS):
            moved = self.move(best, n_groups)
            if torch.equal(moved.group, best.group):
                break
            best = self.fit(moved)
        ways = len(self.distances) * math.log(n_groups) - math.lgamma(n_groups + 1)
        gain = best.value - self.alone.value - ways - (n_groups - 1) * math.log(ODDS)
        groups = Groups(best.group, float(best.log_gap.exp()), self.base, self.alone.numbers)
        return Reading(best.numbers, self.base.apart, best.value, self.base.log_probability + gain, groups)

    @cached_property
    def alone(self) -> _Grouping:
        """The tasks in one group, with the numbers that suit them if every task has a level of its own."""
        nobody, no_gap = torch.zeros(len(self.distances), dtype=torch.long), torch.zeros((), dtype=torch.float64)
        return self.fit(self.look(nobody, self.base.numbers, no_gap))

    def look(self, group: Tensor, numbers: Tensor, log_gap: Tensor) -> _Grouping:
        between = grouped_covariance(numbers, self.base.apart, self.distances, group, log_gap.exp()).requires_grad_()
        with torch.enable_grad():
            value = log_evidence(between, numbers[1].exp(), self.targets)
            (slope,) = torch.autograd.grad(value, between)
        whole = float(value.detach()) + float(self.belief(numbers, log_gap))
        return _Grouping(group, numbers, log_gap, whole, slope)

    def belief(self, numbers: Tensor, log_gap: Tensor) -> Tensor:
        """log D ~ N(0, 1), beside the belief about the numbers of the base."""
        apart = self.base.apart if bool((self.base.apart > 0).any()) else None
        return log_prior(numbers, apart) - 0.5 * log_gap.square()

    def fit(self, start: _Grouping) -> _Grouping:
        """The same groups with the numbers that suit them best."""
        numbers, log_gap = (value.clone().requires_grad_() for value in (start.numbers, start.log_gap))

        def loss() -> Tensor:
            between = grouped_covariance(numbers, self.base.apart, self.distances, start.group, log_gap.exp())
            return -log_evidence(between, numbers[1].exp(), self.targets) - self.belief(numbers, log_gap)

        minimise([numbers, log_gap], loss, iterations=STEPS, history=10, least_slope=1e-2, least_change=1e-2)
        return self.look(start.group, numbers.detach(), log_gap.detach())

    def pull(self, here: _Grouping) -> Tensor:
        """(T, T) what the evidence gains, to first order, where a pair that has a gap loses it."""
        without = task_covariance(here.numbers, self.base.apart, self.distances)
        gain = here.slope * without
        return (gain + gain.T).fill_diagonal_(0)

    def move(self, here: _Grouping, n_groups: int) -> _Grouping:
        """Tasks go where the evidence rises, the numbers staying as they are."""
        for _ in range(MOVES):
            member = F.one_hot(here.group, n_groups).double()
            towards = self.pull(here) @ member * (1 - torch.exp(-here.log_gap.exp()))  # (T, G)
            gain, to = (towards - towards.gather(1, here.group[:, None])).max(1)
            if float(gain.max()) <= LEAST_GAIN:
                break
            alone = torch.eye(len(gain), dtype=torch.bool)[gain.topk(min(SINGLES, len(gain))).indices]
            for movers in (gain > MANY * gain.max(), *alone):
                tried = self.look(torch.where(movers, to, here.group), here.numbers, here.log_gap)
                if tried.value > here.value:
                    break
            else:
                break
            here = tried
        return here
