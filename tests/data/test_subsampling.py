"""Subsampling: every task keeps its share, and the seed decides."""

from __future__ import annotations

import torch

from helpers.toys import toy
from vmtl.data.subsampling import rank_in_task, subsample_evenly, subsample_rows


def test_of_many_tasks_some_are_taken_with_some_rows_and_the_seed_decides():
    few, many = toy([300, 300], classes=2).rows(), toy([20] * 30, classes=2).rows()
    assert len(subsample_rows(few, 100, 0)) == 100
    assert torch.equal(subsample_rows(few, 100, 0), subsample_rows(few, 100, 0))
    assert not torch.equal(subsample_rows(few, 100, 0), subsample_rows(few, 100, 1))
    uneven = toy([3] * 40 + [2000], classes=2).rows()
    for rows, most, tasks in ((many, 5, 20), (uneven, 5, 33)):
        kept = subsample_rows(rows, 100, 0)
        counts = torch.bincount(rows.task[kept], minlength=rows.n_tasks)
        assert len(kept) == 100 == len(kept.unique())
        assert int(counts.max()) <= most
        assert int((counts > 0).sum()) >= tasks
    assert torch.equal(subsample_rows(many, 100, 0), subsample_rows(many, 100, 0))


def test_every_task_keeps_the_same_number_of_rows_as_far_as_it_has_them():
    task = torch.tensor([0] * 50 + [1] * 5 + [2] * 50)
    kept = subsample_evenly(task, 45, 0)
    assert torch.bincount(task[kept]).tolist() == [20, 5, 20]


def test_ranks_number_the_rows_of_each_task():
    task = torch.tensor([0, 1, 0, 2, 1, 0])
    rank = rank_in_task(task, 0)
    for t in range(3):
        assert sorted(rank[task == t].tolist()) == list(range(int((task == t).sum())))
