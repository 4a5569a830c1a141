"""Groups that only targets tell: found where they are, priced as written, and not seen where there are none."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from helpers.rules import KINDS, N_TASKS, NOWHERE, ONE, RULES, THREE, TWO, group_of, groups_of, partition, tasks_of
from vmtl.inference.structure.readings import groups
from vmtl.inference.structure.readings.evidence import Targets, log_evidence
from vmtl.inference.structure.readings.groups import (
    LEAST_GAIN,
    GroupSearch,
    first_guess,
    grouped_covariance,
    read_groups,
)
from vmtl.inference.structure.readings.partition_prior import THETA, in_order
from vmtl.inference.structure.readings.standing_apart import (
    CENTRE,
    DEVIATION,
    Reading,
    read_structure,
    task_covariance,
)

SEEDS = st.integers(0, 2**31 - 1)


def find_groups(targets: Targets, distances: Tensor, base: Reading, n_groups: int) -> Reading:
    search = GroupSearch(targets, distances, base)
    start = search.alone
    if n_groups > 1:
        start = search.fit(replace(start, group=in_order(first_guess(search.pull(start), n_groups))))
    return search.reading(search.settle(start))


def value_of(reading: Reading, targets: Targets, distances: Tensor, group: Tensor) -> float:
    """log evidence, pair by pair, and log belief of every number."""
    numbers, apart = reading.numbers.tolist(), reading.apart.tolist()
    e, gamma, gap = math.exp(numbers[0]), math.exp(numbers[2]), groups_of(reading).gap
    between = torch.eye(len(apart), dtype=torch.float64)
    for t in range(len(apart)):
        for i in range(len(apart)):
            if t != i:
                across = gap if group[t] != group[i] else 0.0
                kept = 2 * e + apart[t] + apart[i] + gamma * float(distances[t, i]) + across
                between[t, i] = math.exp(-kept)
    value = float(log_evidence(between, reading.numbers[1].exp(), targets))
    value -= sum(0.5 * ((n - c) / d) ** 2 for n, c, d in zip(numbers, CENTRE, DEVIATION, strict=True))
    value -= sum(math.log1p((o / e) ** 2) for o in apart)
    return value - 0.5 * math.log(gap) ** 2


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, n_groups=st.integers(1, 4), gap=st.floats(0, 8))
def test_the_covariance_is_positive_definite_and_as_written(seed: int, n_groups: int, gap: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    centre, deviation = torch.tensor(CENTRE).double(), torch.tensor(DEVIATION).double()
    numbers = centre + deviation * torch.randn(3, generator=generator).double()
    points = 2 * torch.randn(5, 2, generator=generator).double()
    distances = torch.cdist(points, points).square()
    apart = torch.rand(5, generator=generator).double().square()
    group = torch.randint(n_groups, (5,), generator=generator)
    between = grouped_covariance(numbers, apart, distances, group, torch.tensor(gap, dtype=torch.float64))
    assert torch.linalg.eigvalsh(between)[0] > 0
    e, gamma = math.exp(numbers[0]), math.exp(numbers[2])
    for t in range(5):
        for i in range(5):
            kept = 2 * e + float(apart[t] + apart[i]) + gamma * float(distances[t, i]) + gap * (group[t] != group[i])
            assert float(between[t, i]) == pytest.approx(1.0 if t == i else math.exp(-kept))
    same = grouped_covariance(numbers, apart, distances, group, torch.zeros((), dtype=torch.float64))
    assert torch.equal(same, task_covariance(numbers, apart, distances))


@pytest.mark.parametrize("n_groups", [2, 3])
def test_the_first_guess_sees_blocks(n_groups: int) -> None:
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        group = torch.arange(12)[torch.randperm(12, generator=generator)] % n_groups
        noise = 0.1 * torch.randn(12, 12, generator=generator, dtype=torch.float64)
        block = torch.where(group[:, None] == group, 1.0, -0.5).double()
        pull = (block + noise + noise.T).fill_diagonal_(0)
        assert partition(first_guess(pull, n_groups)) == partition(group)


@pytest.mark.parametrize("n_groups", [2, 3])
def test_the_first_guess_of_nothing_is_some_groups(n_groups: int) -> None:
    for pull in (NOWHERE, -torch.eye(N_TASKS, dtype=torch.float64), torch.ones_like(NOWHERE)):
        guess = first_guess(pull, n_groups)
        assert guess.shape == (N_TASKS,)
        assert guess.min() >= 0
        assert guess.max() < n_groups


@KINDS
@pytest.mark.parametrize("truth", [TWO, THREE], ids=["two", "three"])
def test_rules_are_told_apart(truth: Tensor, classes: int) -> None:
    n_groups = int(truth.max()) + 1
    for seed in range(2):
        targets = tasks_of(RULES[truth], classes, seed, rows_each=25)
        for base in read_structure(targets, NOWHERE):
            found = find_groups(targets, NOWHERE, base, n_groups)
            assert partition(group_of(found)) == partition(truth)
            assert groups_of(found).gap > 0.5
            assert groups_of(found).base is base
            assert torch.equal(found.apart, base.apart)
        base = read_structure(targets, NOWHERE)[0]
        assert find_groups(targets, NOWHERE, base, n_groups).log_probability > base.log_probability + 3


@KINDS
@pytest.mark.parametrize("n_groups", [2, 3])
def test_one_rule_is_not_believed_to_be_more(n_groups: int, classes: int) -> None:
    for seed in range(3):
        targets = tasks_of(RULES[ONE], classes, seed)
        for base in read_structure(targets, NOWHERE):
            found = find_groups(targets, NOWHERE, base, n_groups)
            assert found.log_probability < base.log_probability - 2


@KINDS
def test_a_task_with_flipped_targets_is_a_group_of_its_own(classes: int) -> None:
    weights = RULES[ONE].clone()
    weights[3] = -weights[3]
    for seed in range(2):
        targets = tasks_of(weights, classes, seed)
        base = read_structure(targets, NOWHERE)[0]
        found = find_groups(targets, NOWHERE, base, 2)
        assert partition(group_of(found)) == {frozenset({3}), frozenset(range(N_TASKS)) - {3}}
        assert found.log_probability > base.log_probability


@pytest.mark.parametrize("n_groups", [2, 3])
def test_what_is_found_by_looking_is_paid_for(n_groups: int) -> None:
    """By the law that partitions have before any row is seen."""
    points = torch.randn(N_TASKS, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    distances = 0.2 * torch.cdist(points, points).square()
    weights = RULES[TWO].clone()
    weights[5] = -weights[0]
    for classes in (0, 2):
        targets = tasks_of(weights, classes)
        base = read_structure(targets, distances)[0]
        found = find_groups(targets, distances, base, n_groups)
        value = value_of(found, targets, distances, group_of(found))
        assert found.value == pytest.approx(value, abs=1e-8)
        gain = found.log_probability - base.log_probability
        nobody = value + believed(group_of(found)) - gain  # the value of no groups, at their best numbers
        assert base.value - 1e-6 <= nobody < base.value + 0.01


def believed(group: Tensor) -> float:
    """log p(g) against one group, by the sizes."""
    sizes = group.bincount().tolist()
    total = sum(math.lgamma(size) for size in sizes) - math.lgamma(len(group))
    return total + (len(sizes) - 1) * math.log(THETA)


@KINDS
@pytest.mark.parametrize("truth", [TWO, THREE], ids=["two", "three"])
def test_no_task_gains_by_leaving_its_group_alone(truth: Tensor, classes: int) -> None:
    """For another one or one of its own, where there are as many groups as rules, the numbers staying as they are."""
    n_groups = int(truth.max()) + 1
    for seed in range(3):
        targets = tasks_of(RULES[truth], classes, seed)
        found = find_groups(targets, NOWHERE, read_structure(targets, NOWHERE)[0], n_groups)
        best = found.value + believed(group_of(found))
        for t in range(N_TASKS):
            for name in set(range(int(group_of(found).max()) + 2)) - {int(group_of(found)[t])}:
                moved = group_of(found).clone()
                moved[t] = name
                moved = in_order(moved)
                assert value_of(found, targets, NOWHERE, moved) + believed(moved) < best + LEAST_GAIN


@KINDS
@pytest.mark.parametrize("truth", [TWO, THREE], ids=["two", "three"])
def test_groups_do_not_depend_on_the_order_of_tasks(truth: Tensor, classes: int) -> None:
    targets, n_groups = tasks_of(RULES[truth], classes), int(truth.max()) + 1
    order = torch.randperm(N_TASKS, generator=torch.Generator().manual_seed(1))  # of old names, the new ones
    renamed = replace(targets, task=order[targets.task])
    one, other = (find_groups(t, NOWHERE, read_structure(t, NOWHERE)[0], n_groups) for t in (targets, renamed))
    assert partition(group_of(other)[order]) == partition(group_of(one))
    assert other.log_probability == pytest.approx(one.log_probability, abs=0.05)


@pytest.mark.parametrize("n_tasks", [2, 3, 61])
def test_two_tasks_are_not_dealt_to_groups(n_tasks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "HOPELESS", math.inf)
    targets = tasks_of(RULES[torch.arange(n_tasks) % 2], 0, rows_each=3)
    nowhere, apart = torch.zeros(n_tasks, n_tasks).double(), torch.zeros(n_tasks).double()
    base = Reading(torch.tensor(CENTRE, dtype=torch.float64), apart, 0.0, 0.0)
    found = read_groups(targets, nowhere, base)
    assert bool(found) == (n_tasks > 2)
    for reading in found:
        assert group_of(reading).shape == (n_tasks,)
        assert torch.equal(in_order(group_of(reading)), group_of(reading))
        assert 1 <= group_of(reading).max() < groups.MAX_GROUPS
        assert groups_of(reading).gap > 0
