"""Positions of tasks: distances against a double loop, without bias, and found only where there are some."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.gp.positions import task_positions as positions_module
from vmtl.gp.positions.class_means import PRIOR_ROWS, ClassCells
from vmtl.gp.positions.task_positions import (
    ShiftGram,
    TaskPositions,
    gram_table,
    infer_positions,
    squared_distances,
)


def draw_rows(
    sizes: list[int], classes: int = 2, shift: Tensor | None = None, features: int = 4, seed: int = 0
) -> Rows:
    """Tasks of one population of classes; the rows of task t are moved by ``shift`` (T, K)."""
    generator = torch.Generator().manual_seed(seed)
    task = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    y = torch.cat([torch.arange(size) % classes for size in sizes])
    centres = 2 * torch.randn(classes, features, generator=generator, dtype=torch.float64)
    x = centres[y] + torch.randn(len(y), features, generator=generator, dtype=torch.float64)
    x = x if shift is None else x + shift[task]
    return Rows(x, y, task, torch.ones(len(y), dtype=torch.float64), len(sizes), classes, True)


def regression(slopes: list[float], sizes: int | list[int], seed: int = 0) -> Rows:
    """z is the same in every task, while the target follows its first column by the task's slope."""
    generator = torch.Generator().manual_seed(seed)
    task = torch.arange(len(slopes)).repeat_interleave(torch.as_tensor(sizes))
    x = torch.randn(len(task), 3, generator=generator, dtype=torch.float64)
    noise = 0.5 * torch.randn(len(task), generator=generator, dtype=torch.float64)
    y = torch.tensor(slopes, dtype=torch.float64)[task] * x[:, 0] + noise
    return Rows(x, y, task, torch.ones(len(y), dtype=torch.float64), len(slopes), 1, False)


def distances_of(rows: Rows) -> Tensor:
    """D, which may be negative, out of its centred Gram matrix."""
    gram = gram_table(ClassCells.of(rows), rows.x)
    return gram.diagonal()[:, None] + gram.diagonal() - 2 * gram


def psi(rows: Rows) -> Tensor:
    """(n, C) the indicators, or 1 and the centred target in units of its deviation within tasks."""
    if rows.is_classification:
        return torch.stack([(rows.y == c).double() for c in range(rows.n_classes)], 1)
    y = rows.y.clone()
    for t in range(rows.n_tasks):
        own = rows.task == t
        y[own] -= (rows.weight[own] * y[own]).sum() / rows.weight[own].sum()
    return torch.stack([torch.ones_like(y), y / ((rows.weight * y**2).sum() / rows.weight.sum()).sqrt()], 1)


def naive_distances(rows: Rows) -> Tensor:
    """The formula of the module, task by task and class by class."""
    design, weight, n_tasks = psi(rows), rows.weight / rows.unit, rows.n_tasks
    mean, count, square, freedom = {}, {}, [0.0] * n_tasks, [0.0] * n_tasks
    for t in range(n_tasks):
        own = rows.task == t
        rest = rows.x[own].clone()
        for c in range(design.shape[1]):
            share = weight[own] * design[own, c]
            count[t, c] = float((share * design[own, c]).sum())
            mean[t, c] = share @ rows.x[own] / max(count[t, c], 1e-12)
            rest -= design[own, c, None] * mean[t, c]
        square[t] = float((weight[own] * rest.square().sum(-1)).sum())
        seen = sum(count[t, c] > 0 for c in range(design.shape[1]))
        freedom[t] = max(0.0, float(weight[own].sum()) - seen)
    common = sum(square) / sum(freedom)
    v = [(square[t] + PRIOR_ROWS * common) / (freedom[t] + PRIOR_ROWS) for t in range(n_tasks)]
    table = torch.zeros(n_tasks, n_tasks, dtype=torch.float64)
    for t in range(n_tasks):
        for i in range(n_tasks):
            total = precision = 0.0
            for c in range(design.shape[1]):
                if t == i or not (count[t, c] > 0 and count[i, c] > 0):
                    continue
                noise = v[t] / count[t, c] + v[i] / count[i, c]
                total += (float((mean[t, c] - mean[i, c]).square().sum()) - noise) / noise
                precision += 1 / noise
            table[t, i] = total / precision / (sum(v) / n_tasks) if precision else 0.0
    return table


@pytest.mark.parametrize("weighted", [False, True])
def test_distances_are_those_of_a_double_loop(weighted: bool) -> None:
    shift = torch.randn(4, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for rows in (draw_rows([5, 9, 2, 12], 3, shift), regression([1.0, -0.5, 2.0], 7)):
        if weighted:
            rows = replace(rows, weight=torch.linspace(0.5, 2, len(rows.y), dtype=torch.float64))
        torch.testing.assert_close(distances_of(rows), naive_distances(rows))


@pytest.mark.parametrize("classification", [True, False])
def test_tasks_of_one_population_are_at_distance_0_on_average(classification: bool) -> None:
    """Whatever their size: without the correction, the smallest would be far from everybody."""
    sizes = [4, 8, 20, 60]
    drawn = [
        distances_of(draw_rows(sizes, seed=seed) if classification else regression([0.0] * 4, sizes, seed))
        for seed in range(300)
    ]
    table = torch.stack(drawn)
    off = ~torch.eye(4, dtype=torch.bool)
    error = table.std(0)[off] / len(drawn) ** 0.5
    assert (table.mean(0)[off].abs() < 4 * error + 0.01).all()


def test_a_class_that_only_one_of_two_tasks_has_does_not_count() -> None:
    rows = draw_rows([12, 12, 12], classes=3)
    y = torch.where((rows.task == 0) & (rows.y == 2), 0, torch.where((rows.task == 1) & (rows.y == 0), 2, rows.y))
    rows = replace(rows, y=y)  # task 0 has classes 0 and 1, task 1 has 1 and 2
    moved = replace(rows, x=torch.where(((rows.task == 0) & (y == 0))[:, None], rows.x + 50, rows.x))
    before, after = distances_of(rows), distances_of(moved)
    assert float(after[0, 1]) == pytest.approx(float(before[0, 1]))
    assert float(after[0, 2]) > float(before[0, 2]) + 10


def test_a_regression_is_seen_by_where_its_rows_lie_and_not_by_its_slopes() -> None:
    """Slopes are what the weights say: positions that knew them would explain the same targets twice."""
    slopes = regression([1.0, 1.0, 1.0, -1.0, -1.0, -1.0], 30)
    assert infer_positions(slopes, 0).points.shape == (6, 0)
    moved = replace(slopes, x=slopes.x + 2.0 * (slopes.task >= 3)[:, None])
    positions = infer_positions(moved, 0)
    distances = positions.distances()
    assert positions.points.shape == (6, 1)
    assert distances[:3, 3:].min() > 4 * max(distances[:3, :3].max(), distances[3:, 3:].max())


@pytest.mark.parametrize(("classes", "axes"), [(2, 0), (4, 1)])
def test_the_difference_of_two_classes_is_no_place(classes: int, axes: int) -> None:
    """Half of the tasks have their labels turned round: of two classes that is what the weights say, of more it is also
    where classes lie."""
    rows = draw_rows([40] * 6, classes)
    turned = replace(rows, y=torch.where(rows.task >= 3, classes - 1 - rows.y, rows.y))
    assert infer_positions(turned, 0).points.shape == (6, axes)


def test_groups_are_found() -> None:
    group = torch.arange(9) % 3
    shift = 1.5 * torch.eye(4, dtype=torch.float64)[group]
    positions = infer_positions(draw_rows([30] * 9, shift=shift), 0)
    distances = positions.distances().masked_fill(torch.eye(9, dtype=torch.bool), torch.inf)
    assert positions.points.shape == (9, 2)  # three groups lie in a plane
    assert torch.equal(group[distances.argmin(1)], group)
    same = group[:, None] == group
    truth = 2 * 1.5**2 / 4  # in units of the variance within classes, which is 1 in each of 4 columns
    assert float(distances[~same].mean()) == pytest.approx(truth, rel=0.25)


@pytest.mark.parametrize("sizes", [[30] * 8, [3] * 20, [4, 4, 4, 60, 60, 60]])
def test_tasks_dealt_at_random_have_no_position(sizes: list[int]) -> None:
    """About one time in six the noise passes one deviation above its mean; then the distances are small."""
    empty, farthest = 0, []
    for seed in range(20):
        positions = infer_positions(draw_rows(sizes, seed=seed), seed)
        empty += positions.points.shape[1] == 0
        farthest.append(float(positions.distances().max()))
    assert empty >= 11
    noise = float(torch.tensor(sizes).double().reciprocal().max())  # variance of a task's mean
    assert sum(farthest) / 20 < 2 * noise


def test_names_of_tasks_do_not_matter() -> None:
    shift = 2 * torch.randn(5, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    rows = draw_rows([20, 10, 30, 15, 25], 3, shift)
    order = torch.tensor([3, 0, 4, 1, 2])  # the new number of every task
    one, other = infer_positions(rows, 0), infer_positions(replace(rows, task=order[rows.task]), 0)
    torch.testing.assert_close(other.distances()[order][:, order], one.distances())
    torch.testing.assert_close(other.noise[:, order][:, :, order], one.noise)


def test_points_and_their_inner_products_agree() -> None:
    shift = 2 * torch.randn(5, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    positions = infer_positions(draw_rows([20] * 5, 3, shift), 0)
    torch.testing.assert_close(positions.distances(), torch.cdist(positions.points, positions.points).square())
    lengths = positions.points.square().sum(0)
    assert (lengths[:-1] >= lengths[1:]).all()  # the longest axis first


def test_draws_are_distances_about_those_of_the_points() -> None:
    points = torch.tensor([[0.0], [1.0], [4.0]], dtype=torch.float64)
    noise = 0.01 * torch.randn(200, 3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    noise = noise + noise.mT
    drawn = TaskPositions(points, noise).draws()
    assert (drawn >= 0).all()
    torch.testing.assert_close(drawn.mean(0), squared_distances(points @ points.T), atol=0.05, rtol=0)


def check_finite(rows: Rows) -> TaskPositions:
    positions = infer_positions(rows, 0)
    for value in (positions.points, positions.noise, positions.draws()):
        assert value.isfinite().all()
        assert (value.abs() < 1e6).all()
    return positions


def test_one_row_per_task_says_nothing_of_distances() -> None:
    """Nothing tells how far apart rows of one task are."""
    assert check_finite(draw_rows([1, 1, 1, 1])).points.shape == (4, 0)
    assert check_finite(regression([1.0, 2.0, 3.0], 1)).points.shape == (3, 0)
    assert check_finite(draw_rows([2, 2, 2])).points.shape == (3, 0)  # one row per class


def test_equal_rows_and_one_class_are_finite() -> None:
    rows = draw_rows([6, 6, 6])
    assert check_finite(replace(rows, x=torch.ones_like(rows.x) / 3)).points.shape == (3, 0)
    check_finite(replace(rows, x=rows.task[:, None].double().expand(-1, 4).clone()))  # equal within tasks
    check_finite(replace(rows, y=torch.zeros_like(rows.y)))
    check_finite(draw_rows([8, 8, 8], classes=1))
    check_finite(replace(regression([1.0, 2.0, 3.0], 5), y=torch.zeros(15, dtype=torch.float64)))


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_units_of_the_representation_do_not_matter(scale: float) -> None:
    shift = 2 * torch.randn(5, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    rows = draw_rows([20] * 5, 3, shift)
    one, other = infer_positions(rows, 0), infer_positions(replace(rows, x=scale * rows.x), 0)
    torch.testing.assert_close(other.distances(), one.distances(), rtol=1e-5, atol=1e-6)


def test_shifts_of_many_tasks_are_those_of_a_double_loop() -> None:
    """Products of the tasks' mean residuals from the means of classes in all tasks, without the expected noise."""
    shift = torch.randn(4, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    rows = draw_rows([5, 9, 2, 12], 3, shift)
    rows = replace(rows, weight=torch.linspace(0.5, 2, len(rows.y), dtype=torch.float64))
    cells, weight = ClassCells.of(rows), rows.weight / rows.unit
    variance = cells.variance(rows.x)
    means = {}
    for c in range(3):
        own = rows.y == c
        means[c] = weight[own] @ rows.x[own] / weight[own].sum()
    moved = torch.zeros(4, 4, dtype=torch.float64)
    for t in range(4):
        for n in (rows.task == t).nonzero().flatten().tolist():
            moved[t] += weight[n] * (rows.x[n] - means[int(rows.y[n])]) / weight[rows.task == t].sum()
    table = moved @ moved.T
    for t in range(4):
        table[t, t] -= variance[t] / weight[rows.task == t].sum()
    centre = torch.eye(4, dtype=torch.float64) - 0.25
    expected = centre @ table @ centre / variance.mean()
    gram = ShiftGram.of(cells, rows.x)
    torch.testing.assert_close(gram.table(), expected)
    torch.testing.assert_close(gram.apply(torch.eye(4, dtype=torch.float64)), expected)


def test_both_ways_find_the_same_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all classes of a task move alike: distances of 60 tasks of 40 rows to 15 % of the largest."""
    shift = 1.5 * torch.eye(4, dtype=torch.float64)[torch.arange(60) % 3]
    rows = draw_rows([40] * 60, 3, shift)
    pairs = infer_positions(rows, 0)
    monkeypatch.setattr(positions_module, "MAX_DENSE", 50)
    moved = infer_positions(rows, 0)
    assert pairs.points.shape == moved.points.shape == (60, 2)
    largest = pairs.distances().max()
    assert (pairs.distances() - moved.distances()).abs().max() < 0.15 * largest


def test_many_tasks_dealt_at_random_have_hardly_a_position(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions_module, "MAX_DENSE", 50)
    monkeypatch.setattr(positions_module, "MAX_TASKS", 100)
    distances = []
    for seed in range(5):
        positions = infer_positions(draw_rows([8] * 120, seed=seed), seed)
        assert positions.noise.numel() == 0  # no table of pairs
        distances.append(float(positions.distances().mean()))
    assert sum(distances) / 5 < 0.05  # the noise of two tasks' means is 2 / 8


def test_many_tasks_of_one_row_have_no_position(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions_module, "MAX_DENSE", 3)
    assert check_finite(draw_rows([1, 1, 1, 1])).points.shape == (4, 0)
    rows = draw_rows([6] * 4)
    assert check_finite(replace(rows, x=torch.ones_like(rows.x) / 3)).points.shape == (4, 0)
