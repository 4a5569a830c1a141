"""Folds of held-out rows."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def stratified_folds(task: Tensor, label: Tensor, n_folds: int, seed: int) -> Tensor:
    """(n,) the fold of each row: rows of one task, and of one class within it, are spread evenly over the folds.

    ``label`` may also be a number, whose values are then spread evenly.
    """
    order = np.lexsort((np.random.default_rng(seed).permutation(len(task)), task.numpy(), label.numpy()))
    fold = torch.empty(len(task), dtype=torch.long)
    fold[torch.from_numpy(order)] = torch.arange(len(task)) % n_folds
    return fold
