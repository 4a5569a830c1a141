"""Blocks of rows to predict: every row once, cells of one task, zeros elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from vmtl.data.prediction_blocks import CELL_ROWS, CELLS, padded_blocks


@pytest.mark.parametrize(("n", "n_tasks"), [(1, 1), (33, 1), (300, 3), (40, 40), (600, 2)])
def test_every_row_is_in_one_cell_of_its_task(n: int, n_tasks: int) -> None:
    rng = np.random.default_rng(0)
    x, task = rng.normal(size=(n, 4)) + 10, rng.integers(0, n_tasks, n)
    seen = []
    for block in padded_blocks(x, task, torch.float64):
        assert block.x.shape == (CELLS, CELL_ROWS, 4)
        flat = block.x.flatten(0, 1)
        np.testing.assert_array_equal(flat[block.place], x[block.rows])
        np.testing.assert_array_equal(block.task[block.place // CELL_ROWS], task[block.rows])
        assert int((flat != 0).any(-1).sum()) == len(block.rows)
        seen += block.rows.tolist()
    assert sorted(seen) == list(range(n))


def test_no_rows_are_no_block() -> None:
    assert not list(padded_blocks(np.zeros((0, 4)), np.zeros(0, dtype=int), torch.float32))
