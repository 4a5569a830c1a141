"""For each row of a batch: the other tasks that saw its class, and beta over them."""

from __future__ import annotations

import torch
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.paper.mixing import renormalise


class OtherTasks:
    """The T - 1 other tasks of every task, and beta over those of them that have a row's class.

    Rows of a class that no other task has are alone: their weights are all 0 and their prior is N(0, I).
    """

    def __init__(self, rows: Rows, support: Tensor) -> None:
        """``support`` (n, T) marks the other tasks that have the class of a training row."""
        everyone = torch.arange(rows.n_tasks, device=rows.task.device)
        pairs = everyone.expand(len(everyone), -1)
        self.index = pairs[pairs != everyone[:, None]].view(len(everyone), -1)  # (T, T-1)
        self._support = support
        self._full_support = bool(rows.class_mask.all())
        self.some_alone = not bool(support.any(-1).all())

    def weights(self, beta: Tensor, index: Tensor) -> Tensor:
        """beta (T, T) of the rows ``index`` (T, N), restricted to tasks with the row's class: (T, N, T-1)."""
        weights = beta.gather(1, self.index)[:, None]  # (T, 1, T-1)
        if not self._full_support:
            support = self._support[index].gather(-1, self.index[:, None].expand(*index.shape, -1))
            weights = renormalise(weights, support)
        return weights.expand(*index.shape, -1)

    def alone(self, index: Tensor) -> Tensor:
        """Which of the rows ``index`` (T, N) have a class that no other task has: (T, N)."""
        return ~self._support[index].any(-1)
