"""Folds of held-out rows: of each class of each task about as many rows in every fold."""

from __future__ import annotations

import pytest
import torch

from vmtl.data.folds import stratified_folds

GENERATOR = torch.Generator().manual_seed(0)
TASK = torch.randint(4, (203,), generator=GENERATOR)
LABEL = torch.randint(3, (203,), generator=GENERATOR)


@pytest.mark.parametrize("n_folds", [2, 5])
def test_every_class_of_every_task_is_spread_evenly(n_folds: int) -> None:
    fold = stratified_folds(TASK, LABEL, n_folds, 0)
    assert fold.min() == 0
    assert fold.max() == n_folds - 1
    for t in range(4):
        for c in range(3):
            counts = torch.bincount(fold[(t == TASK) & (c == LABEL)], minlength=n_folds)
            assert int(counts.max() - counts.min()) <= 1
    for c in range(3):  # tasks follow each other, so that classes of few rows in each are even too
        counts = torch.bincount(fold[c == LABEL], minlength=n_folds)
        assert int(counts.max() - counts.min()) <= 1
    counts = torch.bincount(fold, minlength=n_folds)
    assert int(counts.max() - counts.min()) <= 1


def test_seeds_decide() -> None:
    folds = [stratified_folds(TASK, LABEL, 5, seed) for seed in (0, 0, 1)]
    assert torch.equal(folds[0], folds[1])
    assert not torch.equal(folds[0], folds[2])


def test_numbers_are_spread_too() -> None:
    y = torch.randn(100, generator=GENERATOR, dtype=torch.float64)
    fold = stratified_folds(torch.zeros(100, dtype=torch.long), y, 5, 0)
    means = torch.stack([y[fold == k].mean() for k in range(5)])
    assert float(means.max() - means.min()) < 0.2  # of folds at random about 0.5


def test_few_rows_and_none() -> None:
    one = torch.zeros(1, dtype=torch.long)
    assert stratified_folds(one, one, 5, 0).tolist() == [0]
    assert stratified_folds(one[:0], one[:0], 5, 0).tolist() == []
