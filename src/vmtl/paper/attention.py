"""Label-aware cross attention (Eq. 10): for a row, an average over the rows of each other task that have its label.

f(x_tn, D_i) = softmax(x_tn . D_ic^T / sqrt(d)) D_ic

where
    x_tn = a row of ``rows.x`` (n, D), the columns as they are; d = D
    D_ic = the rows of task i that have the label c of n, ``keys`` (C, T, M)
    f = ``mix(values, index)`` (B, T, F), for the features themselves or for anything that is affine in them

Where we depart from the paper: regression has no labels, so the attention logits gain log k(y_n, y_j), k a Gaussian
kernel on standardised targets, which for discrete targets and a small bandwidth is the label rule again. A row with
sample weight 2 counts as two rows. The authors' code divides by the range of a row's logits in a class (``"range"``)
instead of sqrt(d), which makes the average nearly even.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from vmtl.data.rows import Rows, group_table
from vmtl.paper.choices import AttentionScale

#: Most attention weights kept in memory; beyond that they are computed for each batch.
STORED = 64_000_000


class Attention:
    """softmax over the rows j of task i of x_n . x_j / sqrt(d), restricted to rows with the label of n.

    The rows are fixed, so the weights are computed once per fit. A task never attends to itself. ``support`` (n, T)
    marks the tasks that have rows with the label of a row.
    """

    def __init__(self, rows: Rows, scale: AttentionScale = "root", bandwidth: float = 0.1) -> None:
        self.rows, self.scale, self.bandwidth = rows, scale, bandwidth
        others = rows.task[:, None] != torch.arange(rows.n_tasks, device=rows.task.device)
        self.support = others & rows.class_mask.T[rows.label]  # (n, T)
        cell = rows.label * rows.n_tasks + rows.task
        keys, mask = group_table(cell, rows.n_classes * rows.n_tasks)
        shape = (rows.n_classes, rows.n_tasks, -1)
        self.keys, self._key_mask = keys.view(shape), mask.view(shape)  # (C, T, M), rows of each class and task
        self._stored: Tensor | None = None
        if len(rows.y) * self.keys[0].numel() <= STORED:
            by_class, real = group_table(rows.label, rows.n_classes)
            weights = self._compute(by_class)  # (C, R, T, M)
            self._stored = weights.new_zeros(len(rows.y), *weights.shape[2:])
            self._stored[by_class[real]] = weights[real]

    def mix(self, values: Tensor, index: Tensor, tasks: Tensor | None = None) -> Tensor:
        """The average of ``values`` (n, F) over task i, for each row of ``index`` (B,): (B, T, F).

        ``tasks`` (B, I) are the tasks that each row needs, all if None. Rows only attend to rows of their own
        class (all are of one class in regression), so the average is a batch of small matrix products, one for
        each class and task. An affine layer commutes with it, since the weights sum to 1: mixing its outputs
        equals applying it to mixed inputs, and no (T, T, N, D) tensor is built.
        """
        label = self.rows.label[index]
        slots, real = group_table(label, self.rows.n_classes)  # (C, R) places in ``index``
        rows = index[slots]  # (C, R)
        weights = self._stored[rows] if self._stored is not None else self._compute(rows)  # (C, R, T, M)
        mixed = torch.matmul(weights.transpose(1, 2), values[self.keys])  # (C, T, R, F)
        slot = torch.empty_like(index)
        slot[slots[real]] = real.nonzero()[:, 1]
        if tasks is None:
            tasks = torch.arange(self.rows.n_tasks, device=index.device).expand(len(index), -1)
        return mixed[label[:, None], tasks, slot[:, None]]

    def _compute(self, index: Tensor) -> Tensor:
        """Attention of the rows ``index`` (C, R), row c all of class c: (C, R, T, M)."""
        rows = self.rows
        x, y = rows.x[index], rows.y[index]
        keys = rows.x[self.keys].flatten(1, 2)  # (C, T * M, D)
        logits = torch.matmul(x, keys.mT).unflatten(-1, self.keys.shape[1:])  # (C, R, T, M)
        logits = logits / self._unit(logits)
        weight = torch.where(self._key_mask, rows.weight[self.keys], 0.0)
        logits = logits + weight.log()[:, None]
        if not rows.is_classification:
            distance = (rows.y[self.keys][:, None] - y[..., None, None]) / self.bandwidth
            logits = logits - 0.5 * distance.square()
        return torch.nan_to_num(logits.softmax(-1)) * self.support[index][..., None]

    def _unit(self, logits: Tensor) -> Tensor | float:
        """What the products (C, R, T, M) are divided by."""
        if self.scale == "root":
            return math.sqrt(self.rows.x.shape[-1])
        real = self._key_mask[:, None]
        highest = torch.where(real, logits, -torch.inf).amax(-1, keepdim=True)
        lowest = torch.where(real, logits, torch.inf).amin(-1, keepdim=True)
        return torch.where(highest > lowest, highest - lowest, 1.0)
