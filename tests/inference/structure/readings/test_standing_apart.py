"""Readings of the tasks: positive definite, right where the truth is known, and with honest probabilities."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal

from vmtl.data.rows import Rows
from vmtl.inference.structure.readings.evidence import Targets, log_evidence
from vmtl.inference.structure.readings.standing_apart import (
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


def probabilities(readings: tuple[Reading, ...]) -> list[float]:
    return torch.tensor([reading.log_probability for reading in readings]).softmax(0).tolist()


def covariance_of(reading: Reading, distances: Tensor) -> Tensor:
    return task_covariance(reading.numbers, reading.apart, distances)


def test_the_covariance_is_positive_definite_and_as_written() -> None:
    generator = torch.Generator().manual_seed(0)
    centre, deviation = torch.tensor(CENTRE).double(), torch.tensor(DEVIATION).double()
    for _ in range(100):
        numbers = centre + 1.5 * deviation * torch.randn(3, generator=generator).double()
        points = 2 * torch.randn(N_TASKS, 2, generator=generator).double()
        distances = torch.cdist(points, points).square()
        apart = torch.rand(N_TASKS, generator=generator).double().square()
        between = task_covariance(numbers, apart, distances)
        assert torch.linalg.eigvalsh(between)[0] > 0
        e, gamma = math.exp(numbers[0]), math.exp(numbers[2])
        for t in range(N_TASKS):
            for i in range(N_TASKS):
                kept = 2 * e + float(apart[t] + apart[i]) + gamma * float(distances[t, i])
                assert float(between[t, i]) == pytest.approx(1.0 if t == i else math.exp(-kept))


def test_tasks_of_one_rule_are_read_as_alike() -> None:
    """At whatever place they lie; nobody stands apart."""
    together, told = read_structure(linear_tasks(one_rule()), APART)
    assert covariance_of(together, APART).min() > 0.9
    assert told.apart.max() < 0.05
    assert probabilities((together, told))[0] > 0.5


def test_groups_are_read_as_they_lie() -> None:
    together, told = read_structure(linear_tasks(two_rules()), APART)
    between = covariance_of(together, APART)
    assert between[0, 1] > 0.9
    assert between[0, 3] < 0.5
    assert probabilities((together, told))[0] > 0.5


@pytest.mark.parametrize("distances", [NOWHERE, APART], ids=["one place", "two groups"])
def test_only_the_task_with_flipped_labels_stands_apart(distances: Tensor) -> None:
    weights = one_rule() if distances is NOWHERE else two_rules()
    weights[2] = -weights[2]
    readings = read_structure(linear_tasks(weights), distances)
    told, others = readings[1], torch.arange(N_TASKS) != 2
    assert told.apart[2] > 0.5
    assert told.apart[others].max() < 0.1
    assert covariance_of(told, distances)[2, others].max() < 0.5
    assert covariance_of(told, distances)[0, 1] > 0.9
    assert probabilities(readings)[1] > 0.9


def test_labels_of_classes_flip_too() -> None:
    generator = torch.Generator().manual_seed(0)
    task = torch.arange(N_TASKS).repeat_interleave(20)
    x = torch.randn(len(task), FEATURES, generator=generator, dtype=torch.float64)
    y = (x[:, 0] * torch.where(task == 4, -1, 1) > 0).long()
    targets = Targets.of(Rows(x, y, task, torch.ones(len(y), dtype=torch.float64), N_TASKS, 2, True))
    told = read_structure(targets, NOWHERE)[1]
    assert told.apart[4] > 0.5
    assert told.apart[torch.arange(N_TASKS) != 4].max() < 0.1


def log_density(numbers: Tensor, targets: Targets, distances: Tensor) -> Tensor:
    """log evidence and log prior, both as densities up to the constant of the evidence."""
    prior = Normal(torch.tensor(CENTRE), torch.tensor(DEVIATION))
    between = task_covariance(numbers, torch.zeros(len(distances), dtype=torch.float64), distances)
    return log_evidence(between, numbers[1].exp(), targets) + prior.log_prob(numbers).sum()


def test_a_reading_is_at_the_top_of_its_density() -> None:
    targets = linear_tasks(two_rules())
    together = read_structure(targets, APART)[0]
    top = float(log_density(together.numbers, targets, APART))
    for step in 0.3 * torch.eye(3, dtype=torch.float64):
        assert float(log_density(together.numbers + step, targets, APART)) < top
        assert float(log_density(together.numbers - step, targets, APART)) < top


def test_standing_apart_is_never_worse_than_not_and_has_its_price() -> None:
    for seed in range(3):
        weights = torch.randn(N_TASKS, FEATURES, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        together, told = read_structure(linear_tasks(weights, 5, seed=seed), NOWHERE)
        assert told.value >= together.value
        assert told.log_probability < told.value
