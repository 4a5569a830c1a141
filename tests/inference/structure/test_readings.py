"""Readings of the tasks: positive definite, right where the truth is known, and with honest probabilities."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal

from vmtl.data.rows import Rows
from vmtl.inference.structure.evidence import Targets, log_evidence
from vmtl.inference.structure.readings import (
    CENTRE,
    DEVIATION,
    Reading,
    read_structure,
    task_covariance,
)

N_TASKS, FEATURES = 6, 3
NOWHERE = torch.zeros(N_TASKS, N_TASKS, dtype=torch.float64)
#: Two groups of three tasks.
GROUP = torch.tensor([0, 0, 0, 1, 1, 1])
APART = 4.0 * (GROUP[:, None] != GROUP).double()


def linear_tasks(weights: Tensor, rows_each: int = 15, noise: float = 0.3, seed: int = 0) -> Targets:
    """y = w_t . x and noise, in a regression; ``weights`` (T, K)."""
    generator = torch.Generator().manual_seed(seed)
    task = torch.arange(len(weights)).repeat_interleave(rows_each)
    x = torch.randn(len(task), FEATURES, generator=generator, dtype=torch.float64)
    y = (x * weights[task]).sum(1) + noise * torch.randn(len(task), generator=generator, dtype=torch.float64)
    return Targets.of(Rows(x, y, task, torch.ones(len(y), dtype=torch.float64), len(weights), 1, False))


def one_rule() -> Tensor:
    return torch.tensor([1.0, -1.0, 0.5], dtype=torch.float64).repeat(N_TASKS, 1)


def two_rules() -> Tensor:
    rules = torch.tensor([[1.0, -1.0, 0.5], [-0.3, 0.4, 1.5]], dtype=torch.float64)
    return rules[GROUP]


def probabilities(readings: list[Reading]) -> list[float]:
    return torch.tensor([reading.log_probability for reading in readings]).softmax(0).tolist()


def test_the_covariance_is_positive_definite_and_as_written() -> None:
    generator = torch.Generator().manual_seed(0)
    centre, deviation = torch.tensor(CENTRE).double(), torch.tensor(DEVIATION).double()
    for size in (2, 4):
        for _ in range(100):
            numbers = (centre + 1.5 * deviation * torch.randn(4, generator=generator).double())[:size]
            points = 2 * torch.randn(N_TASKS, 2, generator=generator).double()
            distances = torch.cdist(points, points).square()
            apart = torch.rand(N_TASKS, generator=generator).double().square()
            between = task_covariance(numbers, apart, distances)
            assert torch.linalg.eigvalsh(between)[0] > 0
            e, gamma, h = math.exp(numbers[0]), 0.0, 0.0
            if size == 4:
                gamma, h = math.exp(numbers[2]), 1 / (1 + math.exp(-numbers[3]))
            for t in range(N_TASKS):
                for i in range(N_TASKS):
                    likeness = 1 - h + h * math.exp(-gamma * distances[t, i])
                    kept = 2 * e + float(apart[t] + apart[i])
                    expected = 1.0 if t == i else math.exp(-kept) * likeness
                    assert float(between[t, i]) == pytest.approx(expected)


def test_many_at_once_are_the_same_as_one_by_one() -> None:
    generator = torch.Generator().manual_seed(0)
    numbers = torch.randn(5, 4, generator=generator, dtype=torch.float64)
    distances = torch.rand(5, N_TASKS, N_TASKS, generator=generator, dtype=torch.float64)
    apart = torch.rand(N_TASKS, generator=generator, dtype=torch.float64)
    together = task_covariance(numbers, apart, distances)
    alone = [task_covariance(numbers[s], apart, distances[s]) for s in range(5)]
    torch.testing.assert_close(together, torch.stack(alone))


def test_tasks_of_one_rule_are_read_as_alike() -> None:
    """At whatever place they lie; more numbers do not pay."""
    readings = read_structure(linear_tasks(one_rule()), APART)
    for reading in readings:
        assert reading.covariance(APART)[0, 1] > 0.95
    assert readings[0].covariance(APART)[0, 5] > 0.95
    alike, placed, apart = probabilities(readings)
    assert alike > placed
    assert alike > apart
    assert readings[2].apart.max() < 0.05


def test_groups_are_read_by_position() -> None:
    readings = read_structure(linear_tasks(two_rules()), APART)
    alike, placed, apart = probabilities(readings)
    assert alike < 0.01
    assert placed > apart
    between = readings[1].covariance(APART)
    assert between[0, 1] > 0.9
    assert between[0, 3] < 0.5
    assert readings[1].value > readings[0].value + 5


def test_positions_that_have_nothing_to_do_with_the_weights_do_not_pay() -> None:
    wrong = 4.0 * ((torch.arange(6) % 2)[:, None] != torch.arange(6) % 2).double()
    alike, placed, _ = probabilities(read_structure(linear_tasks(one_rule()), wrong))
    assert alike > placed


@pytest.mark.parametrize("distances", [NOWHERE, APART], ids=["one place", "two groups"])
def test_only_the_task_with_flipped_labels_stands_apart(distances: Tensor) -> None:
    weights = one_rule() if distances is NOWHERE else two_rules()
    weights[2] = -weights[2]
    readings = read_structure(linear_tasks(weights), distances)
    told = readings[2]
    others = torch.arange(N_TASKS) != 2
    assert told.apart[2] > 0.5
    assert told.apart[others].max() < 0.1
    assert told.covariance(distances)[2, others].max() < 0.5
    assert told.covariance(distances)[0, 1] > 0.9
    assert probabilities(readings)[2] > 0.9


def test_labels_of_classes_flip_too() -> None:
    generator = torch.Generator().manual_seed(0)
    task = torch.arange(N_TASKS).repeat_interleave(20)
    x = torch.randn(len(task), FEATURES, generator=generator, dtype=torch.float64)
    y = (x[:, 0] * torch.where(task == 4, -1, 1) > 0).long()
    targets = Targets.of(Rows(x, y, task, torch.ones(len(y), dtype=torch.float64), N_TASKS, 2, True))
    told = read_structure(targets, NOWHERE)[2]
    assert told.apart[4] > 0.5
    assert told.apart[torch.arange(N_TASKS) != 4].max() < 0.1


def test_tasks_in_one_place_have_positions_that_nobody_knows() -> None:
    alike, placed = read_structure(linear_tasks(one_rule()), NOWHERE, most=2)
    assert placed.log_probability == alike.log_probability
    assert torch.equal(placed.numbers[:2], alike.numbers)
    assert torch.equal(placed.covariance(NOWHERE), alike.covariance(NOWHERE))
    drawn = placed.draw(20_000, torch.Generator().manual_seed(0))
    torch.testing.assert_close(drawn[:, 2:].std(0), torch.tensor(DEVIATION[2:]).double(), rtol=0.05, atol=0)


def log_density(numbers: Tensor, targets: Targets, distances: Tensor) -> Tensor:
    """log evidence and log prior, both as densities up to the constant of the evidence."""
    prior = Normal(torch.tensor(CENTRE[: len(numbers)]), torch.tensor(DEVIATION[: len(numbers)]))
    between = task_covariance(numbers, torch.zeros(len(distances), dtype=torch.float64), distances)
    return log_evidence(between, numbers[1].exp(), targets) + prior.log_prob(numbers).sum()


@pytest.mark.parametrize("size", [2, 4])
def test_the_curvature_is_that_of_the_posterior_density(size: int) -> None:
    targets = linear_tasks(two_rules())
    reading = read_structure(targets, APART, most=2)[size // 2 - 1]
    steps = 1e-3 * torch.eye(size, dtype=torch.float64)
    for a in range(size):
        for b in range(size):
            corners = [
                sign_a * sign_b * log_density(reading.numbers + sign_a * steps[a] + sign_b * steps[b], targets, APART)
                for sign_a in (1, -1)
                for sign_b in (1, -1)
            ]
            second = float(sum(corners)) / (4 * 1e-6)
            assert float(reading.curvature[a, b]) == pytest.approx(-second, rel=0.01, abs=0.01)


def test_a_reading_is_at_the_top_of_its_density() -> None:
    targets = linear_tasks(two_rules())
    for reading in read_structure(targets, APART, most=2):
        top = float(log_density(reading.numbers, targets, APART))
        for step in 0.3 * torch.eye(len(reading.numbers), dtype=torch.float64):
            assert float(log_density(reading.numbers + step, targets, APART)) < top
            assert float(log_density(reading.numbers - step, targets, APART)) < top


def test_the_probability_of_a_reading_is_its_integral() -> None:
    """Of *alike*, over a grid of its two numbers."""
    targets = linear_tasks(one_rule() + 0.3 * torch.randn(6, 3, generator=torch.Generator().manual_seed(3)), 6)
    reading = read_structure(targets, NOWHERE, most=1)[0]
    steps = torch.linspace(-4, 4, 33, dtype=torch.float64)
    first, second = (steps * deviation for deviation in reading.curvature.diagonal().rsqrt())
    densities = torch.tensor(
        [[float(log_density(reading.numbers + torch.stack([a, b]), targets, NOWHERE)) for b in second] for a in first]
    )
    cell = float((first[1] - first[0]) * (second[1] - second[0]))
    integral = float(densities.flatten().logsumexp(0)) + math.log(cell)
    assert reading.log_probability == pytest.approx(integral, abs=0.3)
    assert reading.log_probability < reading.value


def test_draws_have_the_covariance_of_laplaces_approximation() -> None:
    reading = read_structure(linear_tasks(two_rules()), APART, most=2)[1]
    drawn = reading.draw(50_000, torch.Generator().manual_seed(0))
    torch.testing.assert_close(drawn.mean(0), reading.numbers, atol=0.05, rtol=0)
    expected = torch.linalg.inv(reading.curvature)
    torch.testing.assert_close(drawn.T.cov(), expected, rtol=0.05, atol=0.05)


def test_standing_apart_is_never_worse_than_not() -> None:
    for seed in range(3):
        weights = torch.randn(N_TASKS, FEATURES, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        readings = read_structure(linear_tasks(weights, 5, seed=seed), NOWHERE)
        assert readings[2].value >= readings[1].value
