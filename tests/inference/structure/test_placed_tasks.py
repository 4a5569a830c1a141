"""B of tasks that lie somewhere, under several readings; what groups cost, and how they are drawn."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from helpers.known_sharing import Given, matrix_of
from vmtl.inference.structure import placed_tasks
from vmtl.inference.structure.placed_tasks import PlacedTasks
from vmtl.inference.structure.positions.task_positions import TaskPositions
from vmtl.inference.structure.readings.partition_prior import THETA, log_partition_prior

#: Four tasks on a line: as they lie, one apart, in two groups (of the last task nobody knows for sure), in three.
POINTS = torch.tensor([[0.0], [1.0], [3.0], [2.0]], dtype=torch.float64)
APART = torch.tensor([[0.0] * 4, [0.0, 0.7, 0.0, 0.0], [0.1, 0.0, 0.2, 0.0], [0.0] * 4], dtype=torch.float64)
MEMBER = F.one_hot(torch.tensor([[0] * 4, [0] * 4, [0, 1, 0, 1], [0, 1, 2, 2]])).double()
MEMBER[2, 3] = torch.tensor([0.3, 0.7, 0.0]).double()
GAP = torch.tensor([0.0, 0.0, 1.3, 0.4], dtype=torch.float64)
SHARE = torch.tensor([0.2, 0.3, 0.4, 0.1], dtype=torch.float64)
PLACED = PlacedTasks(
    TaskPositions(POINTS, torch.zeros(200, 4, 4).double()), APART, SHARE, torch.arange(4), member=MEMBER, gap=GAP
)


def kept(reading: int, t: int, i: int) -> float:
    """The likeness of two tasks in a reading, the average over their groups."""
    total = 0.0
    for g, h in itertools.product(range(3), range(3)):
        between = float(GAP[reading]) if g != h else 0.0
        lost = float(APART[reading, t] + APART[reading, i]) + between
        total += float(MEMBER[reading, t, g] * MEMBER[reading, i, h]) * math.exp(-lost)
    return total


@pytest.mark.parametrize("dense", [True, False])
def test_the_covariance_is_the_average_of_the_readings(dense: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written out pair by pair; as a table, and by a factor."""
    if not dense:
        monkeypatch.setattr(placed_tasks, "MAX_DENSE", 3)
    table = PLACED.at(0.8, 0.3).between(torch.arange(4))
    for t, i in itertools.product(range(4), range(4)):
        likeness = math.exp(-0.3 * float(POINTS[t] - POINTS[i]) ** 2)
        total = sum(float(SHARE[r]) * kept(r, t, i) for r in range(4))
        expected = 1.0 if t == i else 0.8 * likeness * total
        assert float(table[t, i]) == pytest.approx(expected, abs=1e-9 if dense else 0.01)
    assert torch.linalg.eigvalsh(table)[0] > 0


def test_the_belief_is_what_b_was_made_of() -> None:
    belief = PLACED.belief(Given())
    assert torch.equal(belief.member, MEMBER)
    assert torch.equal(belief.gap, GAP)
    plain = replace(PLACED, member=None, gap=None)
    assert torch.equal(plain.belief(Given()).member, torch.ones(4, 4, 1).double())
    near = torch.tensor([0.3, 0.2, 1.0, 0.0]).double()
    by_groups = replace(belief, gap=torch.zeros(4).double()).correlations(near)
    torch.testing.assert_close(plain.belief(Given()).correlations(near), by_groups)


def test_each_reading_stands_alone_with_its_price() -> None:
    """What is not too improbable, and always the first; o costs what it did, groups what the law of partitions says."""
    tasks = torch.arange(4)
    for share, kept in (([0.2, 0.3, 0.4, 0.1], [0, 1, 2, 3]), ([0.0, 0.9999, 0.0001, 0.0], [0, 1])):
        placed = replace(PLACED, share=torch.tensor(share).double(), price=torch.tensor([0.0, 2.5, 0.1, 0.0]).double())
        found = placed.readings(tasks)
        assert [int(one.share.argmax()) for one, _ in found] == kept
        assert all(sorted(one.share.tolist()) == [0, 0, 0, 1] for one, _ in found)
        costs = placed.price - log_partition_prior(MEMBER)
        assert [price for _, price in found] == pytest.approx(costs[kept].tolist())
    assert found[0][1] == 0


def test_a_reading_costs_what_it_says_of_the_tasks_that_are_asked_for() -> None:
    some = torch.tensor([0, 2])  # in the third reading of one group, in the fourth of two
    prices = [price for _, price in PLACED.readings(some)]
    assert prices == pytest.approx([0.0, 0.0, 0.0, -math.log(THETA)])


def test_what_was_judged_has_new_probabilities() -> None:
    placed = replace(PLACED, share=torch.tensor([0.0, 0.9999, 0.0001, 0.0]).double())
    judged = placed.judged(torch.tensor([0.3, 0.7]).double())
    assert judged.share.tolist() == pytest.approx([0.3, 0.7, 0.0, 0.0])
    alone = [matrix_of(one.at(0.8, 0.3)) for one, _ in placed.readings(torch.arange(4))]
    table = 0.3 * alone[0] + 0.7 * alone[1]
    torch.testing.assert_close(matrix_of(judged.at(0.8, 0.3)), table, atol=1e-6, rtol=0)


def test_in_a_draw_every_task_is_of_one_group() -> None:
    sure = replace(PLACED, share=torch.tensor([0.0, 0.0, 1.0, 0.0]).double())
    structure = sure.structure(Given(0.9, 1e-9), 0)
    assert structure.alpha is not None
    assert structure.alpha_interval is not None
    low, high = structure.alpha_interval  # of the last task, which is of the second task's group or of the others'
    assert float(low[3, 1]) < 0.2 < 0.6 < float(high[3, 1])
    known = replace(sure, member=MEMBER.round())
    assert known.structure(Given(0.9, 1e-9), 0).alpha_interval is not None
    low, high = known.structure(Given(0.9, 1e-9), 0).alpha_interval
    torch.testing.assert_close(low, high, atol=1e-6, rtol=0)
