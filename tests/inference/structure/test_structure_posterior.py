"""The structure of the tasks: the exact conditional of B, intervals, and known groups of tasks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from helpers.known_sharing import Given, matrix_of
from helpers.toys import toy
from vmtl import MultiTaskClassifier
from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_rows
from vmtl.datasets import make_task_groups
from vmtl.inference.exact.scales import infer_scales
from vmtl.inference.structure import covariance as covariances
from vmtl.inference.structure import mixing_weights, placed_tasks
from vmtl.inference.structure.covariance import LowRankCovariance
from vmtl.inference.structure.mixing_weights import conditional_of
from vmtl.inference.structure.placed_tasks import PlacedTasks
from vmtl.inference.structure.positions import task_positions
from vmtl.inference.structure.positions.task_positions import TaskPositions
from vmtl.inference.structure.structure_posterior import Relatedness, infer_structure, pair_by_pair
from vmtl.results.relatedness import TaskStructure


def group_rows(rows_each: int, seed: int = 0, grouped: bool = True, classes: int = 2, own: float = 0.0) -> Rows:
    """Six tasks, each with a rule of its ``own`` besides; the second three lie elsewhere and differ if ``grouped``."""
    generator = torch.Generator().manual_seed(seed)
    task = torch.arange(6).repeat_interleave(rows_each)
    second = (task >= 3) & grouped
    x = torch.randn(len(task), 4, generator=generator, dtype=torch.float64)
    rules = own * torch.randn(6, 4, generator=generator, dtype=torch.float64)
    signal = torch.where(second, x[:, 1], x[:, 0]) + (x * rules[task]).sum(1)
    y = signal + 0.3 * torch.randn(len(task), generator=generator, dtype=torch.float64)
    x[:, 3] += torch.where(second, 2.0, 0.0)
    label = (y > 0).long() if classes else y
    return Rows(x, label, task, torch.ones(len(y), dtype=torch.float64), 6, max(1, classes), bool(classes))


def inferred_structure(rows: Rows, relatedness: Relatedness = "averaged") -> TaskStructure:
    """With strength and decay by the likelihood of some of the rows."""
    posterior = infer_structure(rows, relatedness, 0)
    some = rows.take(subsample_rows(rows, 200, 0))
    return posterior.structure(infer_scales(some, posterior, 1.0, 1.0), 0)


def test_what_may_be_shared_decides() -> None:
    rows = group_rows(20)
    eye = torch.eye(6, dtype=torch.float64)
    independent = infer_structure(rows, "independent", 0)
    assert torch.equal(matrix_of(independent.at(0.9, 1.0)), eye)
    uniform = infer_structure(rows, "uniform", 0)
    torch.testing.assert_close(matrix_of(uniform.at(0.9, 1.0)), 0.9 + 0.1 * eye)
    assert not independent.is_placed
    assert not uniform.is_placed
    averaged = infer_structure(rows, "averaged", 0)
    assert averaged.is_placed
    assert inferred_structure(rows).alpha[:3, 3:].sum(1).max() < 0.3


def test_the_covariance_is_the_average_of_the_readings() -> None:
    """Written out pair by pair, of two readings, one of which has a task apart."""
    points = torch.tensor([[0.0], [1.0], [3.0]], dtype=torch.float64)
    apart = torch.tensor([[0.0, 0.0, 0.0], [0.0, 0.7, 0.0]], dtype=torch.float64)
    share = torch.tensor([0.25, 0.75], dtype=torch.float64)
    placed = PlacedTasks(TaskPositions(points, torch.zeros(1, 3, 3).double()), apart, share, torch.arange(3))
    table = matrix_of(placed.at(0.8, 0.3))
    for t in range(3):
        for i in range(3):
            likeness = math.exp(-0.3 * float(points[t] - points[i]) ** 2)
            kept = sum(float(share[k]) * math.exp(-float(apart[k, t] + apart[k, i])) for k in range(2))
            assert float(table[t, i]) == pytest.approx(1.0 if t == i else 0.8 * likeness * kept)


def test_the_most_probable_reading_stands_alone() -> None:
    rows = group_rows(12, seed=1)
    averaged = infer_structure(rows, "averaged", 0)
    assert isinstance(averaged, PlacedTasks)
    probable = averaged.most_probable()
    assert sorted(probable.share.tolist()) == [0.0] * (len(probable.share) - 1) + [1.0]
    assert int(probable.share.argmax()) == int(averaged.share.argmax())


def test_likeness_falls_with_distance_as_fast_as_the_decay_says() -> None:
    placed = infer_structure(group_rows(20), "averaged", 0)
    slow, fast = (matrix_of(placed.at(0.9, decay)) for decay in (0.01, 1.0))
    assert slow[0, 4] > 0.8
    assert fast[0, 4] < 0.3
    assert fast[0, 1] > 0.6


@pytest.mark.parametrize("kind", ["uniform", "averaged", "most probable"])
def test_one_and_two_tasks_have_nothing_to_choose(kind: Any) -> None:
    inferred = infer_structure(toy([9], classes=2).rows(), kind, 0)
    alone = inferred.structure(Given(), 0)
    assert alone.covariance.tolist() == [[1.0]]
    inferred = infer_structure(toy([9, 12], classes=2).rows(), kind, 0)
    pair = inferred.structure(Given(), 0)
    assert pair.alpha.tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert 0 < float(pair.covariance[0, 1]) < 1
    for structure in (alone, pair):
        assert structure.alpha_interval is structure.positions is structure.beta is None


@pytest.mark.parametrize("classes", [0, 2])
@pytest.mark.parametrize("grouped", [False, True])
def test_intervals_contain_the_estimates(classes: int, grouped: bool) -> None:
    """Most of them: an estimate is of the mean of B, an interval of draws."""
    off = ~torch.eye(6, dtype=torch.bool)
    for seed in range(2):
        structure = inferred_structure(group_rows(15, seed, grouped, classes))
        for name, mask in (("alpha", off), ("beta", off), ("sharing", torch.ones(6, dtype=torch.bool))):
            low, high = getattr(structure, f"{name}_interval")
            estimate = getattr(structure, name)
            assert (low <= high).all()
            assert low.min() >= 0
            assert high.max() <= 1 + 1e-9
            inside = (low - 0.02 <= estimate) & (estimate <= high + 0.02)
            assert inside[mask].double().mean() >= 0.8, name


@pytest.mark.parametrize("grouped", [False, True])
def test_intervals_are_wide_with_few_rows_and_narrow_with_many(grouped: bool) -> None:
    """A flat map and one that nobody knows are different answers."""

    def width(rows_each: int, name: str) -> float:
        widths = []
        for seed in range(3):
            low, high = getattr(inferred_structure(group_rows(rows_each, seed, grouped, own=0.3)), f"{name}_interval")
            widths.append(float((high - low).mean()))
        return sum(widths) / 3

    for name in ("alpha", "beta"):
        assert width(300, name) < 0.75 * width(4, name), name


def test_tasks_dealt_at_random_have_an_even_map_within_the_intervals() -> None:
    off, shares = ~torch.eye(6, dtype=torch.bool), []
    for seed in range(6):
        structure = inferred_structure(group_rows(15, seed, grouped=False))
        assert structure.alpha_interval is not None
        low, high = structure.alpha_interval
        shares.append(float(((low <= 0.2 + 1e-6) & (high >= 0.2 - 1e-6))[off].double().mean()))
    assert sum(shares) / len(shares) > 0.95


def test_inference_does_not_depend_on_the_names_of_tasks() -> None:
    rows = group_rows(15)
    order = torch.tensor([4, 0, 3, 5, 1, 2])
    one = inferred_structure(rows)
    other = inferred_structure(Rows(rows.x, rows.y, order[rows.task], rows.weight, 6, 2, True))
    torch.testing.assert_close(other.alpha[order][:, order], one.alpha, atol=1e-3, rtol=0)
    torch.testing.assert_close(other.sharing[order], one.sharing, atol=1e-3, rtol=0)


def test_groups_are_found_and_the_adversary_is_ignored() -> None:
    """Two groups of five, one unrelated task and one with flipped labels; two draws."""
    inside, received = [], []
    for seed in range(2):
        drawn = make_task_groups(seed)
        problem, train, group = drawn.problem, drawn.split.train, drawn.group
        model = MultiTaskClassifier(random_state=0)
        model.fit(problem.X[train], problem.y[train], tasks=problem.tasks[train])
        names = list(problem.task_names)
        alpha = model.alpha_.loc[names, names].to_numpy()
        grouped = np.flatnonzero((group == 0) | (group == 1))
        inside += [alpha[t, group == group[t]].sum() for t in grouped]
        received.append(alpha[group != -1][:, group == -1].mean())
    assert np.mean(inside) > 0.85
    assert np.mean(received) < 0.08


def many_groups(n_tasks: int, rows_each: int, shift: float = 2.0, seed: int = 0) -> tuple[Rows, Tensor]:
    """Three groups with rules of their own, moved by so much; and the group of every task."""
    generator = torch.Generator().manual_seed(seed)
    task = torch.arange(n_tasks).repeat_interleave(rows_each)
    group = torch.arange(n_tasks) % 3
    x = torch.randn(len(task), 4, generator=generator, dtype=torch.float64)
    y = x.gather(1, group[task, None])[:, 0] + 0.3 * torch.randn(len(task), generator=generator, dtype=torch.float64)
    x[:, 3] += shift * (group[task] - 1)
    return Rows(x, (y > 0).long(), task, torch.ones(len(y), dtype=torch.float64), n_tasks, 2, True), group


@pytest.mark.parametrize("tables", [True, False])
def test_groups_of_many_tasks_are_found(tables: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As hundreds of tasks are, with a table of their weights, and as thousands are, without."""
    for module in (covariances, placed_tasks, task_positions):
        monkeypatch.setattr(module, "MAX_DENSE", 40)
    if not tables:
        for module in (mixing_weights, task_positions):
            monkeypatch.setattr(module, "MAX_TASKS", 50)
    rows, group = many_groups(90, 10)
    posterior = infer_structure(rows, "averaged", 0)
    covariance = posterior.at(0.9, 1.0)
    assert isinstance(covariance, LowRankCovariance)
    alpha = conditional_of(covariance, torch.arange(90))[0]
    assert (alpha * (group[:, None] == group)).sum(1).mean() > 0.8  # even weights have a third
    structure = posterior.structure(Given(), 0)
    assert structure.positions is not None
    assert structure.factor is not None
    assert (structure.alpha is not None) == (structure.alpha_interval is not None) == tables
    if structure.alpha_interval is not None:
        low, high = structure.alpha_interval
        assert (low <= structure.alpha).all()
        assert (structure.alpha <= high).all()


def test_many_tasks_of_one_population_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (covariances, placed_tasks, task_positions):
        monkeypatch.setattr(module, "MAX_DENSE", 40)
    rows, _ = many_groups(90, 10, shift=0.0)
    generator = torch.Generator().manual_seed(1)
    noisy = rows.x[:, 0] + torch.randn(len(rows.y), generator=generator, dtype=torch.float64)
    rows = Rows(rows.x, (noisy > 0).long(), rows.task, rows.weight, 90, 2, True)
    posterior = infer_structure(rows, "averaged", 0)
    scales = infer_scales(rows, posterior, 1.0, 1.0)
    covariance = posterior.at(scales.strength, scales.decay)
    between = covariance.apply(torch.eye(90, dtype=torch.float64))[~torch.eye(90, dtype=torch.bool)]
    assert between.max() - between.min() < 0.2


def test_tasks_are_looked_at_pair_by_pair() -> None:
    points = torch.randn(30, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    order = pair_by_pair(points, 3).argsort()
    assert sorted(order.tolist()) == list(range(30))
    for first in range(0, 30, 2):
        left = order[first + 1 :]
        distance = (points[left] - points[order[first]]).square().sum(1)
        assert int(distance.argmin()) == 0
    assert sorted(pair_by_pair(points[:7, :0], 0).tolist()) == list(range(7))  # nowhere, and an odd number
