"""Further readings of the tasks: they fall into groups that only their targets tell.

Two tasks may lie in one place and still follow different rules: the same patients, another treatment. Then the weights
of two tasks are correlated like

    B_ti = exp(-e_t - e_i - gamma |p_t - p_i|^2 - D [g_t != g_i])

where g_t = the group of task t, one of G; D = the gap between groups. It is positive definite as a product of such
matrices: the last factor is exp(-D) everywhere and 1 - exp(-D) more within groups. A task whose labels are nobody
else's is a group of its own.

The groups are found by the slope of the evidence in B: its first eigenvectors tell which tasks want to be more alike
than they are, then tasks move, or leave for a group of their own, as long as that is more probable. What is found by
looking at all ways is paid for by the law that groups have before any row is seen (``partition_prior``). The search
begins with one group and with several, of the tasks as they lie and of tasks without a place: what it ends at depends
on where it begins, and which of these readings is right is for the model itself to judge
(``vmtl.inference.exact.weight_prior``). Every task has a level of its own here: tasks in which a class is frequent are
no group. Tasks that are too many to be looked at join later (``remaining_tasks``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl._utils.minimise import minimise
from vmtl.inference.structure.readings.evidence import Targets, log_evidence
from vmtl.inference.structure.readings.partition_prior import in_order, join_log_odds, log_partition_prior
from vmtl.inference.structure.readings.standing_apart import Groups, Reading, log_prior, task_covariance

#: Fewest tasks that are dealt to groups; how many groups are tried at least, and at most.
LEAST_TASKS, FEW_GROUPS, MAX_GROUPS = 3, 5, 8
#: Times that numbers are fitted to groups and groups to numbers; moves at most each time, steps of one search.
ROUNDS, MOVES, STEPS = 2, 12, 10
#: All tasks move that gain more than this part of the one that gains most, if that helps; else one of so many.
MANY, SINGLES = 0.3, 3
#: Nats below which nobody moves.
LEAST_GAIN = 1e-3
#: Nats by which a guess may be less probable than no groups; of a worse one nothing comes, nor of more groups.
HOPELESS = 25.0
#: log gamma at which likeness hardly falls with distance.
NOWHERE = -6.0


def read_groups(targets: Targets, distances: Tensor, base: Reading) -> list[Reading]:
    """Groups of the tasks as they lie, as many as are not hopeless; none of too few tasks at squared ``distances``."""
    if len(distances) < LEAST_TASKS:
        return []
    return GroupSearch(targets.with_own_levels(), distances, base).find_all()


def grouped_covariance(numbers: Tensor, apart: Tensor, distances: Tensor, group: Tensor, gap: Tensor) -> Tensor:
    """B (T, T) with D = ``gap`` between the groups (T,)."""
    other = (group[:, None] != group).to(distances)
    return task_covariance(numbers, apart, distances) * torch.exp(-gap * other)


@dataclass(frozen=True)
class _Grouping:
    """Groups with the numbers that suit them, and what the evidence says of them."""

    group: Tensor  # (T,) numbered from 0 on
    numbers: Tensor  # (3,) of the reading
    log_gap: Tensor  # ()
    value: float  # log evidence and log belief of the numbers
    slope: Tensor  # (T, T) of the evidence in B

    @property
    def n_groups(self) -> int:
        return int(self.group.max()) + 1

    @property
    def log_probability(self) -> float:
        """With the belief about the groups, up to a constant."""
        return self.value + float(log_partition_prior(F.one_hot(self.group).double()))


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
        """What first guesses of one group and more become, of the tasks as they lie and of tasks without a place."""
        guesses: set[tuple[int, ...]] = set()
        found = [one for start in self.starts for one in self.find_from(start, guesses) if one.n_groups > 1]
        found.sort(key=lambda one: one.log_probability)
        best = {tuple(one.group.tolist()): one for one in found}  # of the same groups the most probable numbers
        return [self.reading(one) for one in best.values()]

    @property
    def starts(self) -> list[_Grouping]:
        """All in one group; and the same where likeness does not fall with distance, unless nobody has a place.

        What positions explain, if only in part, is no reason for a group any more: groups that would explain it better
        are seen without them.
        """
        if not bool(self.distances.any()):
            return [self.alone]
        numbers = self.alone.numbers.clone()
        numbers[2] = NOWHERE
        return [self.alone, self.look(self.alone.group, numbers, self.alone.log_gap)]

    def find_from(self, start: _Grouping, guesses: set[tuple[int, ...]]) -> Iterator[_Grouping]:
        """What guesses of one group to ``FEW_GROUPS`` become, and of one more while that is better.

        It ends where a guess is hopeless. What is in ``guesses`` was tried before, and is not again.
        """
        yield self.settle(start)
        before, last = -math.inf, -math.inf
        for n_groups in range(2, min(MAX_GROUPS, len(self.distances)) + 1):
            if n_groups > FEW_GROUPS and not last > before:
                break
            guess = in_order(first_guess(self.pull(start), n_groups))
            name = tuple(guess.tolist())
            if name in guesses:
                continue
            guesses.add(name)
            guessed = self.fit(replace(start, group=guess))
            if guessed.log_probability < self.alone.log_probability - HOPELESS:
                break
            found = self.settle(guessed)
            before, last = last, found.log_probability
            yield found

    def settle(self, here: _Grouping) -> _Grouping:
        """Where tasks go from here, and the numbers with them."""
        for _ in range(ROUNDS):
            moved = self.move(here)
            if torch.equal(moved.group, here.group):
                break
            here = self.fit(moved)
        return here

    def reading(self, found: _Grouping) -> Reading:
        """The tasks in these groups."""
        gain = found.log_probability - self.alone.log_probability
        groups = Groups(found.group, float(found.log_gap.exp()), self.base, self.alone.numbers)
        return Reading(found.numbers, self.base.apart, found.value, self.base.log_probability + gain, groups=groups)

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

    def move(self, here: _Grouping) -> _Grouping:
        """Tasks go where that is more probable, the numbers staying as they are."""
        for _ in range(MOVES):
            n_groups = here.n_groups
            member = F.one_hot(here.group, n_groups + 1).double()  # nobody is of the last group yet
            towards = self.pull(here) @ member * (1 - torch.exp(-here.log_gap.exp()))  # (T, G + 1)
            towards += join_log_odds(here.group, n_groups)
            if n_groups == MAX_GROUPS:
                towards = towards[:, :-1]
            gain, to = (towards - towards.gather(1, here.group[:, None])).max(1)
            if float(gain.max()) <= LEAST_GAIN:
                break
            alone = torch.eye(len(gain), dtype=torch.bool)[gain.topk(min(SINGLES, len(gain))).indices]
            for movers in (gain > MANY * gain.max(), *alone):
                group = in_order(torch.where(movers, to, here.group))
                tried = self.look(group, here.numbers, here.log_gap)
                if tried.log_probability > here.log_probability:
                    break
            else:
                break
            here = tried
        return here
