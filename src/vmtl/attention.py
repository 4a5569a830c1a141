"""Label-aware cross attention (Eq. 10): what every other task says about a row."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from vmtl.batches import Rows

#: Most attention weights kept in memory; beyond that they are computed for each batch.
STORED = 64_000_000


class Attention:
    """softmax over the rows j of task i of x_n . x_j / sqrt(d), restricted to rows with the label of n.

    Features are fixed, so the weights are computed once per fit. In regression there are no labels; the
    attention logits gain log k(y_n, y_j), k a Gaussian kernel on standardised targets, which for discrete
    targets and a small bandwidth is the label rule again. A row with sample weight 2 counts as two rows.

    A task never attends to itself. ``support`` (n, T) says which tasks have something to say about a row.
    """

    def __init__(self, rows: Rows, bandwidth: float = 0.1) -> None:
        self.rows, self.bandwidth = rows, bandwidth
        self.keys, self._key_mask = rows.by_task  # (T, M), (T, M)
        others = rows.task[:, None] != torch.arange(rows.n_tasks, device=rows.task.device)
        self.support = others & rows.class_mask.T[rows.label]  # (n, T)
        stored = len(rows.y) * self.keys.numel() <= STORED
        self._stored = self._compute(torch.arange(len(rows.y), device=rows.task.device)) if stored else None

    def weights(self, index: Tensor) -> Tensor:
        """Attention of the rows ``index`` (B,) to the rows of every task: (T, B, M)."""
        return self._stored[:, index] if self._stored is not None else self._compute(index)

    def mix(self, values: Tensor, index: Tensor) -> Tensor:
        """The average of ``values`` (n, F) that each task i offers each row of ``index`` (B,): (B, T, F).

        An affine layer commutes with this average, since the weights sum to 1: mixing its outputs equals
        applying it to mixed inputs, and no (T, T, N, D) tensor is built.
        """
        return torch.matmul(self.weights(index), values[self.keys]).transpose(0, 1)

    def _compute(self, index: Tensor) -> Tensor:
        rows = self.rows
        x, y = rows.x[index], rows.y[index]
        logits = torch.matmul(x, rows.x[self.keys].mT) / math.sqrt(x.shape[-1])  # (T, B, M)
        key_weight = torch.where(self._key_mask, rows.weight[self.keys], 0.0)
        logits = logits + key_weight.log()[:, None]
        if rows.is_classification:
            logits = logits.masked_fill(rows.y[self.keys][:, None] != y[:, None], -torch.inf)
        else:
            distance = (rows.y[self.keys][:, None] - y[:, None]) / self.bandwidth
            logits = logits - 0.5 * distance.square()
        return torch.nan_to_num(logits.softmax(-1)) * self.support[index].T[..., None]
