"""One order for the same rows, however they come."""

from __future__ import annotations

import torch

from helpers.toys import toy
from vmtl.data.row_order import in_canonical_order


def test_the_order_in_which_rows_come_does_not_matter() -> None:
    rows = toy([9, 12, 8], classes=3).rows()
    order = torch.randperm(29, generator=torch.Generator().manual_seed(0))
    one, other = in_canonical_order(rows), in_canonical_order(rows.take(order))
    for name in ("x", "y", "task", "weight"):
        assert torch.equal(getattr(one, name), getattr(other, name))
    assert one.task.tolist() == sorted(rows.task.tolist())
    digits = {tuple(row) for row in rows.x.tolist()}
    assert {tuple(row) for row in one.x.tolist()} == digits


def test_rows_twice_are_one_of_twice_the_weight() -> None:
    rows = toy([6, 5], classes=2).rows()
    twice = in_canonical_order(rows.take(torch.cat([torch.arange(11), torch.arange(4)])))
    assert len(twice.y) == 11
    assert sorted(twice.weight.tolist()) == [1.0] * 7 + [2.0] * 4


def test_a_constant_column_is_no_matter() -> None:
    rows = toy([6, 5]).rows()
    rows.x[:, 2] = 1.0
    order = torch.randperm(11, generator=torch.Generator().manual_seed(0))
    assert torch.equal(in_canonical_order(rows).x, in_canonical_order(rows.take(order)).x)
