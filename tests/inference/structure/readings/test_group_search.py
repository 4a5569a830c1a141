"""The search for groups: where it begins, who moves, when it ends, and what is kept of it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from helpers.rules import FEATURES, KINDS, N_TASKS, NOWHERE, ONE, RULES, TWO, group_of, partition, tasks_of
from vmtl.inference.structure.readings import groups
from vmtl.inference.structure.readings.groups import FEW_GROUPS, GroupSearch, first_guess, read_groups
from vmtl.inference.structure.readings.standing_apart import read_structure, task_covariance


def test_where_targets_say_nothing_a_task_joins_the_larger_group(monkeypatch: pytest.MonkeyPatch) -> None:
    targets = tasks_of(RULES[ONE], 0)
    search = GroupSearch(targets, NOWHERE, read_structure(targets, NOWHERE)[0])
    here = replace(search.alone, group=torch.tensor([0, 0, 0, 0, 0, 1, 1, 2]), value=0.0)
    monkeypatch.setattr(GroupSearch, "pull", lambda *_: NOWHERE)
    monkeypatch.setattr(GroupSearch, "look", lambda _, group, *__: replace(here, group=group))
    assert torch.equal(search.move(here).group, ONE)


@KINDS
def test_from_one_group_on_those_leave_who_are_nobody_elses(classes: int) -> None:
    """One task with a rule of its own among those of one rule; and nobody where there is one rule."""
    weights = RULES[ONE].clone()
    weights[3] = RULES[2]
    for seed in range(2):
        targets = tasks_of(weights, classes, seed, rows_each=25)
        search = GroupSearch(targets, NOWHERE, read_structure(targets, NOWHERE)[0])
        assert partition(search.settle(search.alone).group) == {frozenset({3}), frozenset(range(N_TASKS)) - {3}}
        alike = tasks_of(RULES[ONE], classes, seed)
        search = GroupSearch(alike, NOWHERE, read_structure(alike, NOWHERE)[0])
        assert torch.equal(search.settle(search.alone).group, ONE)


@KINDS
def test_two_rules_and_a_task_against_both(classes: int) -> None:
    weights = RULES[TWO].clone()
    weights[5] = RULES[2]
    targets = tasks_of(weights, classes, rows_each=25)
    found = read_groups(targets, NOWHERE, read_structure(targets, NOWHERE)[0])
    best = max(found, key=lambda reading: reading.log_probability)
    assert partition(group_of(best)) == {frozenset({0, 2, 4, 6}), frozenset({1, 3, 7}), frozenset({5})}


def test_no_more_groups_than_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "MAX_GROUPS", 2)
    weights = RULES[ONE].clone()
    weights[3], weights[6] = RULES[2], 2 * RULES[1]
    targets = tasks_of(weights, 0, rows_each=25)
    for reading in read_groups(targets, NOWHERE, read_structure(targets, NOWHERE)[0]):
        assert len(partition(group_of(reading))) == 2


@KINDS
def test_the_same_groups_are_one_reading(classes: int) -> None:
    """One against all is what one group, two and three come to."""
    weights = RULES[ONE].clone()
    weights[3] = -weights[3]
    targets = tasks_of(weights, classes, rows_each=25)
    found = read_groups(targets, NOWHERE, read_structure(targets, NOWHERE)[0])
    keys = [frozenset(partition(group_of(reading))) for reading in found]
    assert len(keys) == len(set(keys))
    assert frozenset({frozenset({3}), frozenset(range(N_TASKS)) - {3}}) in keys


@KINDS
def test_more_groups_are_not_guessed_where_a_guess_is_hopeless(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    monkeypatch.setattr(groups, "first_guess", lambda pull, n: tried.append(n) or first_guess(pull, n))
    targets = tasks_of(RULES[TWO], classes)
    base = read_structure(targets, NOWHERE)[0]
    for limit, expected in ((-math.inf, [2]), (math.inf, [2, 3, 4, 5])):
        monkeypatch.setattr(groups, "HOPELESS", limit)
        read_groups(targets, NOWHERE, base)
        assert tried[: FEW_GROUPS - 1] == expected
        tried.clear()


#: Two places, each with tasks of two rules: places and rules agree but for one task in each.
PLACES = torch.tensor([0, 1, 0, 1, 0, 1, 1, 0])


@KINDS
def test_groups_that_places_explain_in_part_are_found_without_them(classes: int) -> None:
    distances = (PLACES[:, None] != PLACES).double()
    targets = tasks_of(RULES[TWO], classes, rows_each=25)
    base = read_structure(targets, distances)[0]
    search = GroupSearch(targets.with_own_levels(), distances, base)
    as_they_lie, nowhere = search.starts
    assert as_they_lie is search.alone
    torch.testing.assert_close(nowhere.numbers[:2], search.alone.numbers[:2])
    like = task_covariance(nowhere.numbers, base.apart, distances)
    assert float(like[0, 1]) == pytest.approx(float(like[0, 2]), rel=0.01)  # far or near
    best = max(search.find_all(), key=lambda reading: reading.log_probability)
    assert partition(group_of(best)) == partition(TWO)
    assert len(GroupSearch(targets.with_own_levels(), NOWHERE, base).starts) == 1


@KINDS
def test_nothing_is_guessed_twice_and_the_same_groups_keep_their_best_numbers(
    classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    distances = (PLACES[:, None] != PLACES).double()
    targets = tasks_of(RULES[TWO], classes, rows_each=25)
    search = GroupSearch(targets.with_own_levels(), distances, read_structure(targets, distances)[0])
    once = list(search.find_from(search.alone, guesses := set()))
    again = list(search.find_from(search.alone, guesses))
    assert len(again) == 1 < len(once)  # what one group becomes is no guess
    worse = replace(once[-1], value=once[-1].value - 1)
    for found in ([once[-1], worse], [worse, once[-1]]):
        monkeypatch.setattr(GroupSearch, "find_from", lambda _, start, __, found=found: iter(found))
        (reading,) = search.find_all()
        assert reading.value == once[-1].value


def test_many_groups_are_found() -> None:
    five = torch.arange(20) % 5
    rules = 1.5 * torch.randn(5, FEATURES, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    targets, nowhere = tasks_of(rules[five], 0, rows_each=20), torch.zeros(20, 20).double()
    base = read_structure(targets, nowhere)[0]
    found = GroupSearch(targets.with_own_levels(), nowhere, base).find_all()
    best = max(found, key=lambda reading: reading.log_probability)
    assert partition(group_of(best)) == partition(five)


@pytest.mark.parametrize("truth", [ONE, TWO], ids=["one", "two"])
def test_levels_of_tasks_are_no_groups(truth: Tensor) -> None:
    """Half of the tasks at another level: the same groups are found, and believed or not as before."""
    targets = tasks_of(RULES[truth], 0)
    levels = 3.0 * (torch.arange(N_TASKS) < 4).double()
    moved = replace(targets, outputs=targets.outputs + levels[targets.task, None])
    base = read_structure(targets, NOWHERE)[0]
    for of_levels in (targets, moved):
        best = max(read_groups(of_levels, NOWHERE, base), key=lambda reading: reading.log_probability)
        assert (best.log_probability > base.log_probability) == bool(truth.any())
        assert not truth.any() or partition(group_of(best)) == partition(truth)
