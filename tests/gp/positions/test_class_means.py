"""Means of classes in tasks, against loops over tasks and classes."""

from __future__ import annotations

import torch

from helpers.toys import toy
from vmtl.data.rows import Rows
from vmtl.gp.positions.class_means import PRIOR_ROWS, ClassCells, ClassMeans


def rows_of(missing: tuple[tuple[int, int], ...] = ((0, 1),)) -> Rows:
    """Three tasks of three classes; the first has no row of class 1."""
    return toy([9, 12, 8], classes=3, missing=missing).rows()


def test_means_and_counts_by_loops() -> None:
    rows = rows_of()
    table = ClassCells.of(rows).class_means(rows.x)
    for t in range(3):
        for c in range(3):
            chosen = rows.x[(rows.task == t) & (rows.y == c)]
            assert int(table.counts[t, c]) == len(chosen)
            if len(chosen):
                torch.testing.assert_close(table.means[t, c], chosen.mean(0))
    assert int(table.counts[0, 1]) == 0


def test_residuals_have_no_mean_and_their_variance_is_drawn_to_that_of_all() -> None:
    rows = rows_of()
    cells = ClassCells.of(rows)
    residuals = cells.residuals(rows.x)
    square, freedom = torch.zeros(3, dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
    for t in range(3):
        for c in rows.y[rows.task == t].unique():
            chosen = residuals[(rows.task == t) & (rows.y == c)]
            torch.testing.assert_close(chosen.mean(0), torch.zeros(6, dtype=torch.float64), atol=1e-12, rtol=0)
            square[t] += chosen.square().sum()
            freedom[t] += len(chosen) - 1
    expected = (square + PRIOR_ROWS * square.sum() / freedom.sum()) / (freedom + PRIOR_ROWS)
    torch.testing.assert_close(cells.variance(rows.x), expected)


def test_tasks_of_one_population_are_at_distance_zero_on_average() -> None:
    """However few rows they have: the noise of a mean is subtracted."""
    generator, total = torch.Generator().manual_seed(0), torch.zeros(2, 2, dtype=torch.float64)
    for _ in range(400):
        x = torch.randn(10, 5, generator=generator, dtype=torch.float64)
        task, y = torch.tensor([0] * 4 + [1] * 6), torch.tensor([0, 0, 1, 1, 0, 0, 0, 1, 1, 1])
        means = ClassCells.of(Rows(x, y, task, torch.ones(10).double(), 2, 2, True)).class_means(x)
        total += means.distances(means)
    assert abs(float(total[0, 1]) / 400) < 0.25  # without the noise subtracted it is about 2


def test_merging_rows_of_a_task_is_the_mean_of_all_its_rows() -> None:
    rows = rows_of(())
    last = (rows.task == 2).nonzero().flatten()
    first, more = rows.take(torch.cat([(rows.task < 2).nonzero().flatten(), last[:5]])), rows.take(last[5:])
    more = Rows(more.x, more.y, torch.zeros_like(more.task), more.weight, 1, 3, True)
    merged = ClassCells.of(first).class_means(first.x).merge(2, ClassCells.of(more).class_means(more.x))
    whole: ClassMeans = ClassCells.of(rows).class_means(rows.x)
    torch.testing.assert_close(merged.counts, whole.counts)
    torch.testing.assert_close(merged.means, whole.means)
