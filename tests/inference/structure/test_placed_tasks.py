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


def test_the_probability_of_groups_is_changed_alone() -> None:
    assert PLACED.grouped() == pytest.approx(0.5)
    assert replace(PLACED, member=None, gap=None).grouped() == 0
    for probability in (0.0, 0.25, 1.0):
        changed = PLACED.with_grouped(probability)
        assert changed.grouped() == pytest.approx(probability)
        parts = torch.tensor([0.4 * (1 - probability), 0.6 * (1 - probability), 0.8 * probability, 0.2 * probability])
        torch.testing.assert_close(changed.share, parts.double())
    table = sum(p * matrix_of(PLACED.with_grouped(one).at(0.8, 0.3)) for p, one in ((0.75, 0.0), (0.25, 1.0)))
    torch.testing.assert_close(matrix_of(PLACED.with_grouped(0.25).at(0.8, 0.3)), table)


def test_what_is_as_good_as_impossible_can_be_asked_for() -> None:
    """Hundreds of tasks may be so sure that the other readings round to nothing."""
    sure = replace(PLACED, share=torch.tensor([0.0, 0.0, 1.0, 0.0]).double())
    for probability in (0.0, 0.3):
        changed = sure.with_grouped(probability)
        assert changed.grouped() == pytest.approx(probability)
        torch.testing.assert_close(changed.share[:2], torch.full((2,), (1 - probability) / 2).double())


def test_groups_cost_what_looking_for_them_told() -> None:
    """Of sure tasks a fair part of all ways to deal them, of the others as much as is known; odds for a group more."""
    two = 3 * math.log(2) + 0.3 * math.log(0.3 / 0.5) + 0.7 * math.log(0.7 / 0.5) - math.log(2) + math.log(9)
    three = 4 * math.log(3) - math.log(6) + 2 * math.log(9)
    assert PLACED.group_price(torch.arange(4)) == pytest.approx(0.8 * two + 0.2 * three)
    some = torch.tensor([0, 2])
    expected = 0.8 * (2 * math.log(2) - math.log(2) + math.log(9)) + 0.2 * (
        2 * math.log(3) - math.log(6) + 2 * math.log(9)
    )
    assert PLACED.group_price(some) == pytest.approx(expected)


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
