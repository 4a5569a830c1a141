"""Means of classes in tasks, against loops over tasks and classes."""

from __future__ import annotations

import torch

from helpers.toys import toy
from vmtl.data.rows import Rows
from vmtl.gp.positions.class_means import PRIOR_ROWS, ClassCells, ClassMeans


def rows_of(missing: tuple[tuple[int, int], ...] = ((0, 1),)) -> Rows:
    """Three tasks of three classes; the first has no row of class 1."""
    return toy([9, 12, 8], classes=3, missing=missing).rows()


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


def test_merging_rows_of_a_task_is_the_mean_of_all_its_rows() -> None:
    rows = rows_of(())
    last = (rows.task == 2).nonzero().flatten()
    first, more = rows.take(torch.cat([(rows.task < 2).nonzero().flatten(), last[:5]])), rows.take(last[5:])
    more = Rows(more.x, more.y, torch.zeros_like(more.task), more.weight, 1, 3, True)
    merged = ClassCells.of(first).class_means(first.x).merge(2, ClassCells.of(more).class_means(more.x))
    whole: ClassMeans = ClassCells.of(rows).class_means(rows.x)
    torch.testing.assert_close(merged.counts, whole.counts)
    torch.testing.assert_close(merged.means, whole.means)
