"""The structure of tasks that fall into groups which only their targets tell."""

from __future__ import annotations

import math

import pytest
import torch

from helpers.known_sharing import Given, matrix_of
from vmtl.data.rows import Rows
from vmtl.inference.structure.positions import TaskPositions
from vmtl.inference.structure.structure_posterior import PlacedTasks, infer_structure


def rules_in_one_place(second: bool, classes: int, rows_each: int = 20, n_tasks: int = 8, seed: int = 0) -> Rows:
    """Tasks with rows in one place; every other one has a rule of its own if there is a ``second``."""
    generator = torch.Generator().manual_seed(seed)
    task = torch.arange(n_tasks).repeat_interleave(rows_each)
    x = torch.randn(len(task), 4, generator=generator, dtype=torch.float64)
    signal = torch.where((task % 2 == 1) & second, x[:, 1], x[:, 0])
    y = signal + 0.3 * torch.randn(len(task), generator=generator, dtype=torch.float64)
    label = (y > 0).long() if classes else y
    return Rows(x, label, task, torch.ones(len(y), dtype=torch.float64), n_tasks, max(1, classes), bool(classes))


def placed_tasks(rows: Rows) -> PlacedTasks:
    placed = infer_structure(rows, "averaged", 0)
    assert isinstance(placed, PlacedTasks)
    assert placed.group is not None
    assert placed.gap is not None
    assert placed.group.shape == placed.apart.shape == (len(placed.share), rows.n_tasks)
    assert placed.gap.shape == placed.share.shape
    return placed


def grouped_shares(placed: PlacedTasks) -> list[float]:
    """The probabilities of the readings in which tasks fall into groups."""
    assert placed.gap is not None
    shares: list[float] = placed.share[placed.gap > 0].tolist()
    return shares


def test_the_covariance_is_the_average_of_the_readings_with_groups_too() -> None:
    """Written out pair by pair, of three readings, one of which has a task apart and one two groups."""
    points = torch.tensor([[0.0], [1.0], [3.0], [2.0]], dtype=torch.float64)
    apart = torch.tensor([[0.0] * 4, [0.0, 0.7, 0.0, 0.0], [0.1, 0.0, 0.2, 0.0]], dtype=torch.float64)
    group, gap = torch.tensor([[0] * 4, [0] * 4, [0, 1, 0, 1]]), torch.tensor([0.0, 0.0, 1.3], dtype=torch.float64)
    share = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    where = TaskPositions(points, torch.zeros(1, 4, 4).double())
    placed = PlacedTasks(where, apart, share, torch.arange(4), group=group, gap=gap)
    table = matrix_of(placed.at(0.8, 0.3))
    for t in range(4):
        for i in range(4):
            likeness = math.exp(-0.3 * float(points[t] - points[i]) ** 2)
            kept = 0.0
            for k in range(3):
                between = float(gap[k]) if group[k, t] != group[k, i] else 0.0
                kept += float(share[k]) * math.exp(-float(apart[k, t] + apart[k, i]) - between)
            assert float(table[t, i]) == pytest.approx(1.0 if t == i else 0.8 * likeness * kept)
    belief = placed.belief(Given())
    assert torch.equal(belief.group, group)
    assert torch.equal(belief.gap, gap)


@pytest.mark.parametrize("classes", [0, 2])
def test_groups_in_one_place_are_told_by_their_targets(classes: int) -> None:
    group, eye = torch.arange(8) % 2, torch.eye(8, dtype=torch.bool)
    same = group[:, None] == group
    for seed in range(2):
        placed = placed_tasks(rules_in_one_place(True, classes, seed=seed))
        assert sum(grouped_shares(placed)) > 0.9
        between = matrix_of(placed.at(0.9, 1.0))
        assert between[same & ~eye].min() > between[~same].max() + 0.2
        structure = placed.structure(Given(), 0)
        assert structure.alpha is not None
        assert (structure.alpha * same).sum(1).min() > 0.8
        assert structure.alpha_interval is not None
        low, high = structure.alpha_interval
        assert (low <= structure.alpha).all()
        assert (structure.alpha <= high).all()


@pytest.mark.parametrize("classes", [0, 2])
def test_one_population_has_no_groups(classes: int) -> None:
    off = ~torch.eye(8, dtype=torch.bool)
    for seed in range(2):
        placed = placed_tasks(rules_in_one_place(False, classes, seed=seed))
        assert grouped_shares(placed)  # they are looked for
        assert sum(grouped_shares(placed)) < 0.1
        for decay, most in ((0.0, 0.05), (1.0, 0.2)):
            between = matrix_of(placed.at(0.9, decay))[off]
            assert between.max() - between.min() < most


@pytest.mark.parametrize(("n_tasks", "looked_for"), [(60, True), (61, False)])
def test_groups_of_more_than_sixty_tasks_are_not_looked_for(n_tasks: int, looked_for: bool) -> None:
    placed = placed_tasks(rules_in_one_place(True, 2, rows_each=4, n_tasks=n_tasks))
    assert bool(grouped_shares(placed)) == looked_for
    assert len(placed.share) - len(grouped_shares(placed)) == 2
