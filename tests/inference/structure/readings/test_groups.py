"""Groups that only targets tell: found where they are, priced as written, and not seen where there are none."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.inference.structure.readings import groups
from vmtl.inference.structure.readings.evidence import Targets, log_evidence
from vmtl.inference.structure.readings.groups import (
    LEAST_APART,
    LEAST_GAIN,
    GroupSearch,
    first_guess,
    grouped_covariance,
    read_groups,
)
from vmtl.inference.structure.readings.standing_apart import (
    CENTRE,
    DEVIATION,
    Groups,
    Reading,
    read_structure,
    task_covariance,
)

N_TASKS, FEATURES = 8, 3
NOWHERE = torch.zeros(N_TASKS, N_TASKS, dtype=torch.float64)
RULES = torch.tensor([[1.0, -1.0, 0.5], [-0.3, 0.4, 1.5], [-1.2, -0.8, -0.4]], dtype=torch.float64)
ONE, TWO, THREE = torch.zeros(N_TASKS, dtype=torch.long), torch.arange(N_TASKS) % 2, torch.arange(N_TASKS) % 3
KINDS = pytest.mark.parametrize("classes", [0, 2], ids=["numbers", "classes"])
SEEDS = st.integers(0, 2**31 - 1)


def tasks_of(weights: Tensor, classes: int, seed: int = 0, rows_each: int = 15) -> Targets:
    """Linear tasks of ``weights`` (T, K) with rows in one place; two classes by the sign, or numbers."""
    generator = torch.Generator().manual_seed(seed)
    task = torch.arange(len(weights)).repeat_interleave(rows_each)
    x = torch.randn(len(task), FEATURES, generator=generator, dtype=torch.float64)
    y = (x * weights[task]).sum(1) + 0.3 * torch.randn(len(task), generator=generator, dtype=torch.float64)
    label = (y > 0).long() if classes else y
    weight = torch.ones(len(y), dtype=torch.float64)
    return Targets.of(Rows(x, label, task, weight, len(weights), max(1, classes), bool(classes)))


def partition(group: Tensor) -> set[frozenset[int]]:
    """The groups whatever their names, without empty ones."""
    return {frozenset((group == name).nonzero().flatten().tolist()) for name in group.unique()}


def find_groups(targets: Targets, distances: Tensor, base: Reading, n_groups: int) -> Reading:
    return GroupSearch(targets, distances, base).find(n_groups)


def groups_of(reading: Reading) -> Groups:
    assert reading.groups is not None
    return reading.groups


def group_of(reading: Reading) -> Tensor:
    return groups_of(reading).group


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
@pytest.mark.parametrize("base_number", [0, 1], ids=["as they lie", "some apart"])
def test_what_is_found_by_looking_is_paid_for(base_number: int, n_groups: int) -> None:
    """A fair part of all ways to deal the tasks, odds of 1 to 9 for each group more, and what the base pays."""
    points = torch.randn(N_TASKS, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    distances = 0.2 * torch.cdist(points, points).square()
    weights = RULES[TWO].clone()
    weights[5] = -weights[0]
    for classes in (0, 2):
        targets = tasks_of(weights, classes)
        base = read_structure(targets, distances)[base_number]
        assert (base_number == 1) == bool(base.apart.max() > LEAST_APART)
        found = find_groups(targets, distances, base, n_groups)
        value = value_of(found, targets, distances, group_of(found))
        assert found.value == pytest.approx(value, abs=1e-8)
        ways = N_TASKS * math.log(n_groups) - math.log(math.factorial(n_groups))
        gain = found.log_probability - base.log_probability
        nobody = value - ways - (n_groups - 1) * math.log(9) - gain  # the value of no groups, at their best numbers
        assert base.value - 1e-6 <= nobody < base.value + 0.01


@KINDS
@pytest.mark.parametrize("truth", [TWO, THREE], ids=["two", "three"])
def test_no_task_gains_by_leaving_its_group_alone(truth: Tensor, classes: int) -> None:
    """Where there are as many groups as rules, the numbers staying as they are."""
    n_groups = int(truth.max()) + 1
    for seed in range(3):
        targets = tasks_of(RULES[truth], classes, seed)
        found = find_groups(targets, NOWHERE, read_structure(targets, NOWHERE)[0], n_groups)
        for t in range(N_TASKS):
            for name in set(range(n_groups)) - {int(group_of(found)[t])}:
                moved = group_of(found).clone()
                moved[t] = name
                assert value_of(found, targets, NOWHERE, moved) < found.value + LEAST_GAIN


@KINDS
@pytest.mark.parametrize("truth", [TWO, THREE], ids=["two", "three"])
def test_groups_do_not_depend_on_the_order_of_tasks(truth: Tensor, classes: int) -> None:
    targets, n_groups = tasks_of(RULES[truth], classes), int(truth.max()) + 1
    order = torch.randperm(N_TASKS, generator=torch.Generator().manual_seed(1))  # of old names, the new ones
    renamed = replace(targets, task=order[targets.task])
    one, other = (find_groups(t, NOWHERE, read_structure(t, NOWHERE)[0], n_groups) for t in (targets, renamed))
    assert partition(group_of(other)[order]) == partition(group_of(one))
    assert other.log_probability == pytest.approx(one.log_probability, abs=0.05)


@pytest.mark.parametrize(("n_tasks", "expected"), [(3, 0), (4, 2), (61, 2)])
def test_few_tasks_are_not_dealt_to_groups(n_tasks: int, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "HOPELESS", math.inf)
    targets = tasks_of(RULES[torch.arange(n_tasks) % 2], 0, rows_each=3)
    nowhere, apart = torch.zeros(n_tasks, n_tasks).double(), torch.zeros(n_tasks).double()
    base = Reading(torch.tensor(CENTRE, dtype=torch.float64), apart, 0.0, 0.0)
    found = read_groups(targets, nowhere, (base,))
    assert len(found) == expected
    for n_groups, reading in enumerate(found, 2):
        assert group_of(reading).shape == (n_tasks,)
        assert group_of(reading).max() < n_groups
        assert groups_of(reading).gap > 0


def test_a_base_that_is_nearly_the_first_is_not_read_again() -> None:
    targets = tasks_of(RULES[TWO], 0)
    base = read_structure(targets, NOWHERE)[0]
    for apart, expected in ((0.0, 2), (0.9 * LEAST_APART, 2), (1.1 * LEAST_APART, 4), (1.0, 4)):
        second = replace(base, apart=base.apart.index_fill(0, torch.tensor([2]), apart))
        found = read_groups(targets, NOWHERE, (base, second))
        assert len(found) == expected
        for number, reading in enumerate(found):
            assert torch.equal(reading.apart, (base, second)[number // 2].apart)
            assert len(partition(group_of(reading))) <= 2 + number % 2


@KINDS
def test_three_groups_are_not_tried_where_two_are_hopeless(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "HOPELESS", 2.0)
    expected = []
    for truth in (ONE, TWO):
        targets = tasks_of(RULES[truth], classes)
        base = read_structure(targets, NOWHERE)[0]
        two, three = (find_groups(targets.with_own_levels(), NOWHERE, base, n_groups) for n_groups in (2, 3))
        hopeless = two.log_probability < base.log_probability - groups.HOPELESS
        found = read_groups(targets, NOWHERE, (base,))
        assert [reading.value for reading in found] == ([two.value] if hopeless else [two.value, three.value])
        expected.append(hopeless)
    assert expected == [True, False]


def test_one_group_more_is_tried_as_long_as_that_is_more_probable() -> None:
    five = torch.arange(20) % 5
    rules = 1.5 * torch.randn(5, FEATURES, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    targets, nowhere = tasks_of(rules[five], 0, rows_each=20), torch.zeros(20, 20).double()
    base = read_structure(targets, nowhere)[0]
    found = GroupSearch(targets.with_own_levels(), nowhere, base).find_all()
    values = [reading.log_probability for reading in found]
    assert len(found) >= 5
    assert values[1:-1] == sorted(values[1:-1])
    assert values[-1] < values[-2]
    assert partition(group_of(found[3])) == partition(five)


@pytest.mark.parametrize("truth", [ONE, TWO], ids=["one", "two"])
def test_levels_of_tasks_are_no_groups(truth: Tensor) -> None:
    """Half of the tasks at another level: the same groups are found, and believed or not as before."""
    targets = tasks_of(RULES[truth], 0)
    levels = 3.0 * (torch.arange(N_TASKS) < 4).double()
    moved = replace(targets, outputs=targets.outputs + levels[targets.task, None])
    base = read_structure(targets, NOWHERE)[0]
    for one, other in zip(*(read_groups(t, NOWHERE, (base,)) for t in (targets, moved)), strict=True):
        assert torch.equal(group_of(one), group_of(other))
        assert (other.log_probability > base.log_probability) == (one.log_probability > base.log_probability)
