"""Tasks that were not looked at: predicted as the joint law says, of their group, and asked about every reading."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.distributions import MultivariateNormal

from vmtl.data.rows import Rows
from vmtl.inference.structure.readings import remaining_tasks
from vmtl.inference.structure.readings.evidence import OutputScale, Targets
from vmtl.inference.structure.readings.groups import read_groups
from vmtl.inference.structure.readings.remaining_tasks import LookedAt, TaskTables, read_whole
from vmtl.inference.structure.readings.standing_apart import Groups, Reading, read_structure

FEATURES, N_TASKS = 3, 30
RULES = torch.tensor([[1.0, -1.0, 0.5], [-0.3, 0.4, 1.5]], dtype=torch.float64)
KNOWN = torch.tensor([1, 4, 5, 8, 11, 12, 17, 20])
KINDS = pytest.mark.parametrize("classes", [0, 2, 3], ids=["numbers", "two classes", "three classes"])


def draw(group: Tensor, classes: int, seed: int = 0, rows_each: int = 12) -> Rows:
    """Tasks with rows in one place, each with the rule of its group; some have a row less."""
    generator = torch.Generator().manual_seed(seed)
    task = torch.arange(len(group)).repeat_interleave(rows_each)
    task = task[torch.arange(len(task)) % (3 * rows_each) > 0]
    x = torch.randn(len(task), FEATURES, generator=generator, dtype=torch.float64)
    y = (x * RULES[group][task]).sum(1) + 0.3 * torch.randn(len(task), generator=generator, dtype=torch.float64)
    label = torch.bucketize(y, torch.linspace(-0.5, 0.5, classes - 1).double()) if classes else y
    weight = torch.ones(len(y), dtype=torch.float64)
    return Rows(x, label, task, weight, len(group), max(1, classes), bool(classes))


def parts(rows: Rows) -> tuple[Rows, Rows]:
    """The rows of the tasks that are looked at, numbered anew, and of the others."""
    mine = torch.isin(rows.task, KNOWN)
    some = rows.take(mine.nonzero().flatten())
    some = replace(some, task=torch.searchsorted(KNOWN, some.task), n_tasks=len(KNOWN))
    return some, rows.take((~mine).nonzero().flatten())


def numbers(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64).log()


POINTS = 0.5 * torch.randn(N_TASKS, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
APART = torch.tensor([0.0, 0.3, 0.0, 0.0, 1.0, 0.0, 0.1, 0.0], dtype=torch.float64)
BASE = Reading(numbers(0.1, 0.4, 0.7), APART, 0.0, -3.0)
GROUP = torch.tensor([0, 1, 0, 1, 1, 0, 0, 0])
GROUPED = Reading(numbers(0.2, 0.3, 0.5), APART, 0.0, -5.0, Groups(GROUP, 1.2, BASE, numbers(0.1, 0.5, 0.6)))


def expected_density(rows: Rows, reading: Reading, task: int, own_levels: bool) -> Tensor:
    """(G,) by conditioning the joint normal law of the known tasks and one other, row by row."""
    some, _ = parts(rows)
    scale, group = OutputScale.of(some), None if reading.groups is None else reading.groups.group
    e, ridge, gamma = reading.numbers.exp().tolist()
    mine = rows.take((rows.task == task).nonzero().flatten())
    x = torch.cat([some.x, mine.x])
    owner = torch.cat([KNOWN[some.task], mine.task]).tolist()
    place = {int(t): i for i, t in enumerate(KNOWN)}
    mean_kept = -math.log(float(torch.exp(-reading.apart).mean()))
    keeps = {t: e + float(reading.apart[i]) for t, i in place.items()} | {task: e + mean_kept}
    y, n = torch.cat([scale.outputs(some.y), scale.outputs(mine.y)]), len(some.y)
    values = []
    for g in range(1 if group is None else 2):
        sides = {task: g} | {t: 0 if group is None else int(group[i]) for t, i in place.items()}
        a = torch.zeros(len(x), len(x), dtype=torch.float64)
        for i, j in itertools.product(range(len(x)), range(len(x))):
            t, u = owner[i], owner[j]
            far = gamma * float((POINTS[t] - POINTS[u]).square().sum())
            gap = 0.0 if reading.groups is None or sides[t] == sides[u] else reading.groups.gap
            b = 1.0 if t == u else math.exp(-keeps[t] - keeps[u] - far - gap)
            k = float(x[i] @ x[j])
            a[i, j] = b * k + (float(t == u) if own_levels else b) + ridge * (i == j)
        known = a[:n, :n]
        variance = float((y[:n] * torch.linalg.solve(known, y[:n])).sum()) / y.shape[1] / n
        gain = torch.linalg.solve(known, a[:n, n:]).T
        law = variance * (a[n:, n:] - gain @ a[:n, n:])
        each = [MultivariateNormal(gain @ y[:n, c], law).log_prob(y[n:, c]) for c in range(y.shape[1])]
        constant = 0.5 * len(mine.y) * math.log(2 * math.pi)
        values.append(max(1, y.shape[1] - 1) * (torch.stack(each).mean() + constant))
    return torch.stack(values)


@KINDS
@pytest.mark.parametrize("kind", ["plain", "own levels", "groups"])
def test_the_density_is_that_of_the_joint_law(classes: int, kind: str) -> None:
    rows = draw(torch.arange(N_TASKS) % 2, classes)
    some, others = parts(rows)
    looked_at = LookedAt(some, KNOWN, POINTS)
    reading = GROUPED if kind == "groups" else BASE
    law = looked_at.law(reading, own_levels=kind == "own levels")
    tables = TaskTables.of(others, looked_at)
    found = law.log_density(tables) - law.log_frequency
    for task in (0, 3, 29):
        place = tables.task.tolist().index(task)
        expected = expected_density(rows, reading, task, own_levels=kind != "plain")
        torch.testing.assert_close(found[place], expected, rtol=1e-8, atol=1e-8)
    frequency = torch.tensor([6 / 10, 4 / 10]) if kind == "groups" else torch.ones(1)
    torch.testing.assert_close(law.log_frequency.exp(), frequency.double())


def test_a_row_of_weight_two_is_two_rows() -> None:
    rows = draw(torch.arange(N_TASKS) % 2, 0)
    some, others = parts(rows)
    looked_at = LookedAt(some, KNOWN, POINTS)
    twice = replace(others, weight=1 + (torch.arange(len(others.y)) % 4 == 0).double())
    repeated = others.take(torch.arange(len(others.y)).repeat_interleave(twice.weight.long()))
    one, other = (looked_at.law(GROUPED).log_density(TaskTables.of(part, looked_at)) for part in (twice, repeated))
    torch.testing.assert_close(one[:, 0] - one[:, 1], other[:, 0] - other[:, 1])


@pytest.mark.parametrize("asked", [3, 200], ids=["some are asked", "all are asked"])
def test_what_the_others_say_is_added(asked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remaining_tasks, "ASKED_TASKS", asked)
    monkeypatch.setattr(remaining_tasks, "HOPELESS", math.inf)
    rows = draw(torch.arange(N_TASKS) % 2, 0)
    some, others = parts(rows)
    plain, grouped = read_whole([BASE, GROUPED], some, KNOWN, others, POINTS)
    tasks = sorted(set(range(N_TASKS)) - set(KNOWN.tolist()))
    frequency = torch.tensor([0.6, 0.4]).double()
    ungrouped = replace(BASE, numbers=GROUPED.groups.ungrouped) if GROUPED.groups else BASE
    by_base = by_groups = without = 0.0
    for task in tasks[:asked]:
        by_base += float(expected_density(rows, BASE, task, own_levels=False))
        without += float(expected_density(rows, ungrouped, task, own_levels=True))
        by_groups += float((frequency * expected_density(rows, GROUPED, task, own_levels=True).exp()).sum().log())
    assert plain.log_probability == pytest.approx(BASE.log_probability + by_base)
    assert grouped.log_probability == pytest.approx(GROUPED.log_probability + by_base + by_groups - without)
    for task in tasks:  # everybody finds a group, asked or not
        expected = (frequency.log() + expected_density(rows, GROUPED, task, own_levels=True)).softmax(0)
        torch.testing.assert_close(grouped.member[task], expected)
    assert torch.equal(grouped.member[KNOWN].argmax(1), GROUP)
    assert torch.equal(plain.member, torch.ones(N_TASKS, 1).double())
    assert (plain.gap, grouped.gap) == (0.0, 1.2)


def test_tasks_that_were_not_looked_at_stand_apart_as_the_others_do() -> None:
    some, others = parts(draw(torch.arange(N_TASKS) % 2, 0))
    (whole,) = read_whole([BASE], some, KNOWN, others, POINTS)
    assert torch.equal(whole.apart[KNOWN], APART)
    rest = torch.ones(N_TASKS, dtype=torch.bool).index_fill(0, KNOWN, False)
    torch.testing.assert_close(torch.exp(-whole.apart[rest]), torch.exp(-APART).mean().expand(int(rest.sum())))


def test_where_all_were_looked_at_nothing_is_asked() -> None:
    some, _ = parts(draw(torch.arange(N_TASKS) % 2, 0))
    plain, grouped = read_whole([BASE, GROUPED], some, torch.arange(8), None, POINTS[KNOWN])
    assert (plain.log_probability, grouped.log_probability) == (-3.0, -5.0)
    assert torch.equal(grouped.member.argmax(1), GROUP)
    assert torch.equal(grouped.apart, APART)


@KINDS
def test_rules_that_some_show_are_confirmed_and_followed(classes: int) -> None:
    group, nowhere = torch.arange(N_TASKS) % 2, torch.zeros(N_TASKS, 0, dtype=torch.float64)
    for truth in (group, torch.zeros_like(group)):
        some, others = parts(draw(truth, classes))
        targets, distances = Targets.of(some), torch.zeros(len(KNOWN), len(KNOWN)).double()
        readings = list(read_structure(targets, distances))
        readings += read_groups(targets, distances, readings[0])
        whole = read_whole(readings, some, KNOWN, others, nowhere)
        best = max(whole, key=lambda reading: reading.log_probability)
        assert (best.gap > 0) == bool(truth.any())
        if truth.any():
            same = best.member @ best.member.T
            right = (truth[:, None] == truth).double()
            assert float((same - right).abs().mean()) < 0.1
