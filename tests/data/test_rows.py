"""Training rows of all tasks, flat and in batches."""

from __future__ import annotations

import pytest
import torch

from vmtl.data.rows import Rows, group_table

ROWS = Rows(
    x=torch.arange(10.0).reshape(5, 2),
    y=torch.tensor([0, 1, 1, 2, 2]),
    task=torch.tensor([0, 1, 0, 1, 1]),
    weight=torch.tensor([1.0, 2.0, 3.0, 0.0, 2.0]),
    n_tasks=2,
    n_classes=3,
    is_classification=True,
)


def test_weights_and_classes_of_every_task() -> None:
    assert ROWS.task_weight.tolist() == [4.0, 4.0]
    assert ROWS.class_mask.tolist() == [[True, True, False], [False, True, True]]
    assert ROWS.unit == pytest.approx((1 + 4 + 9 + 4) / 8)


def test_a_class_of_weight_zero_was_not_seen() -> None:
    rows = ROWS.take(torch.tensor([0, 1, 2, 3]))
    assert rows.class_mask.tolist() == [[True, True, False], [False, True, False]]


def test_groups_are_padded_and_masked() -> None:
    index, mask = group_table(ROWS.task, 3)
    assert [index[t][mask[t]].tolist() for t in range(3)] == [[0, 2], [1, 3, 4], []]
    assert index.shape == (3, 3)


def test_a_batch_weighs_one_per_task_and_padding_nothing() -> None:
    batch = ROWS.batch(*ROWS.by_task)
    assert batch.weight.sum(1).tolist() == pytest.approx([1.0, 1.0])
    assert batch.weight[0].tolist() == [0.25, 0.75, 0.0]
    counted = batch.weight > 0
    assert set(batch.index[1].tolist()) == set(batch.index[1][counted[1]].tolist()) == {1, 4}
    assert batch.mean(batch.x[..., 0]).tolist() == pytest.approx([0.25 * 0 + 0.75 * 4, 0.5 * 2 + 0.5 * 8])
