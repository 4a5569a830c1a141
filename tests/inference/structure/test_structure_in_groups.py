"""The structure of tasks that fall into groups which only their targets tell."""

from __future__ import annotations

import pytest
import torch

from helpers.known_sharing import Given, matrix_of
from vmtl.data.rows import Rows
from vmtl.inference.structure.placed_tasks import PlacedTasks
from vmtl.inference.structure.structure_posterior import infer_structure


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
    assert placed.member is not None
    assert placed.gap is not None
    assert placed.member.shape[:2] == placed.apart.shape == (len(placed.share), rows.n_tasks)
    assert placed.gap.shape == placed.share.shape
    return placed


def grouped_shares(placed: PlacedTasks) -> list[float]:
    """The probabilities of the readings in which tasks fall into groups."""
    assert placed.gap is not None
    shares: list[float] = placed.share[placed.gap > 0].tolist()
    return shares


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
        assert sum(grouped_shares(placed)) < 0.1
        for decay, most in ((0.0, 0.05), (1.0, 0.2)):
            between = matrix_of(placed.at(0.9, decay))[off]
            assert between.max() - between.min() < most


@pytest.mark.parametrize("n_tasks", [60, 61, 320])
@pytest.mark.parametrize("classes", [0, 2])
def test_groups_of_many_tasks_are_told_too(n_tasks: int, classes: int) -> None:
    """Where only some tasks are looked at, and where B is no table."""
    placed = placed_tasks(rules_in_one_place(True, classes, rows_each=12, n_tasks=n_tasks))
    assert sum(grouped_shares(placed)) > 0.9
    between = placed.at(0.9, 1.0).between(torch.arange(n_tasks))
    same = (torch.arange(n_tasks)[:, None] - torch.arange(n_tasks)) % 2 == 0
    off = ~torch.eye(n_tasks, dtype=torch.bool)
    assert between[same & off].mean() > between[~same].mean() + 0.2
    structure = placed.structure(Given(), 0)
    assert structure.alpha is not None
    assert (structure.alpha * same).sum(1).mean() > 0.8


@pytest.mark.parametrize("n_tasks", [61, 320])
@pytest.mark.parametrize("classes", [0, 2])
def test_many_tasks_of_one_population_have_no_groups(n_tasks: int, classes: int) -> None:
    placed = placed_tasks(rules_in_one_place(False, classes, rows_each=12, n_tasks=n_tasks))
    assert grouped_shares(placed)
    assert sum(grouped_shares(placed)) < 0.1
