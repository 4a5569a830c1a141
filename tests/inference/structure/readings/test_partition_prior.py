"""The law of partitions beside its definition, one task after the other, and its sum over all partitions."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl.inference.structure.readings.partition_prior import THETA, in_order, join_log_odds, log_partition_prior


def one_after_the_other(group: list[int]) -> float:
    """log p(g): each task joins a group with odds of its size, or begins one with odds theta."""
    total = 0.0
    for t, name in enumerate(group):
        size = group[:t].count(name)
        total += math.log((size or THETA) / (t + THETA))
    return total


def member_of(group: list[int]) -> Tensor:
    return F.one_hot(torch.tensor(group), 5).double()


def partitions(n_tasks: int) -> set[tuple[int, ...]]:
    """All ways to deal the tasks, numbered as they come."""
    dealt = product(range(n_tasks), repeat=n_tasks)
    return {tuple({name: i for i, name in enumerate(dict.fromkeys(group))}[g] for g in group) for group in dealt}


def test_the_prior_is_that_of_tasks_that_come_one_after_the_other() -> None:
    one_group = one_after_the_other([0] * 5)
    for group in partitions(5):
        expected = one_after_the_other(list(group)) - one_group
        assert float(log_partition_prior(member_of(list(group)))) == pytest.approx(expected, abs=1e-12)


def test_all_partitions_together_are_certain() -> None:
    values = torch.stack([log_partition_prior(member_of(list(group))) for group in partitions(5)])
    assert float(values.logsumexp(0)) + one_after_the_other([0] * 5) == pytest.approx(0)


def test_ten_tasks_are_of_one_group_in_about_half_of_what_is_expected() -> None:
    assert math.exp(one_after_the_other([0] * 10)) == pytest.approx(0.5, abs=0.06)


def test_the_odds_of_joining_are_the_ratios_of_the_prior() -> None:
    for group in ([0, 0, 1, 0, 2], [0] * 5, [0, 1, 2, 3, 3]):
        n_groups = max(group) + 1
        odds = join_log_odds(torch.tensor(group), n_groups)
        assert odds.shape == (5, n_groups + 1)
        for t in range(5):
            moved = [[*group[:t], name, *group[t + 1 :]] for name in range(n_groups + 1)]
            values = torch.stack([log_partition_prior(member_of(one)) for one in moved if max(one) < 5])
            expected = values - values[group[t]]
            torch.testing.assert_close((odds[t] - odds[t, group[t]])[: len(values)], expected)


def test_what_is_left_open_is_not_paid_for() -> None:
    """A task that is as likely of either of two groups of equal size costs log 2 less than one that is of one."""
    unsure = member_of([0, 0, 1, 1, 0])
    unsure[4] = torch.tensor([0.5, 0.5, 0.0, 0.0, 0.0]).double()
    sizes = 2 * math.lgamma(2.5) - math.lgamma(5) + math.log(THETA)
    assert float(log_partition_prior(unsure)) == pytest.approx(sizes + math.log(2))
    several = torch.stack([unsure, member_of([0] * 5)])
    assert log_partition_prior(several).tolist() == pytest.approx([sizes + math.log(2), 0.0])


def test_groups_have_numbers_in_the_order_of_the_tasks() -> None:
    assert in_order(torch.tensor([4, 4, 1, 7, 1])).tolist() == [0, 0, 1, 2, 1]
