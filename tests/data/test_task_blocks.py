"""Rows by task, in blocks: each row once, in its task, without much padding and mostly without a copy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from helpers.toys import toy
from vmtl.data import task_blocks
from vmtl.data.task_blocks import task_order


@pytest.mark.parametrize("most", [8, 1024])
def test_every_row_is_there_once(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_blocks, "BLOCK_ROWS", most)
    rows = toy([1, 7, 20, 0, 19, 6], classes=0).rows(weight=np.arange(1.0, 54.0))
    seen = torch.zeros(53, dtype=torch.long)
    for block in rows.by_blocks:
        assert block.weight.numel() <= most
        for t, x, y, own in zip(block.task, block.x, block.y, block.weight, strict=True):
            for row, target, w in zip(x, y, own, strict=True):
                if w > 0:
                    number = int(w) - 1
                    seen[number] += 1
                    assert rows.task[number] == t
                    assert torch.equal(row, rows.x[number])
                    assert target == rows.y[number]
    assert (seen == 1).all()
    assert sum(block.weight.numel() for block in rows.by_blocks) <= 1.5 * 53


def test_rows_in_order_are_not_copied() -> None:
    rows = toy([4, 7, 4, 4, 2000], classes=2).rows()
    rows = rows.take(task_order(rows))
    memory = rows.x.untyped_storage().data_ptr()
    assert [block.x.untyped_storage().data_ptr() == memory for block in rows.by_blocks] == [True] * 4
    assert [tuple(block.weight.shape) for block in rows.by_blocks] == [(1, 1024), (1, 976), (1, 7), (3, 4)]
