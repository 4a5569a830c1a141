"""The convex bound of z for the kernel encoder: a table of distances, made once per fit.

The encoder has a fixed mean and one learned width, the same on both sides of the KL, so that

KL_t = sum_c share_tc sum_i beta_tci d_tci / (2 s^2)

where
    share_tc = part of task t's rows in class c, ``share`` (T, C)
    beta_tci = ``context.beta`` restricted to the tasks that saw class c, (T, C, T)
    d_tci = mean over the rows n of task t and class c of |(h_n - f(h_n, D_i)) / spread|^2, ``distance`` (T, C, T)
    h_n = ``rows.x``, kernel features; f = attention (Eq. 10); spread = ``encoder.spread``
    s = exp of ``encoder.log_width``

Rows of a class that no other task has are measured against N(0, I). The mean is over all training rows, also when the
rest of a step looks at a batch of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.model.attention import Attention
from vmtl.model.distributions import Gaussian
from vmtl.model.encoders import KernelEncoder
from vmtl.model.mixing import renormalise
from vmtl.model.priors.base import Context

#: Numbers in one piece of the table of distances while it is made.
DISTANCES_AT_ONCE = 8_000_000


@dataclass(frozen=True)
class Distances:
    """What the bound needs of the training rows."""

    share: Tensor  # (T, C)
    distance: Tensor  # (T, C, T)
    support: Tensor  # (T, C, T) which other tasks have a class
    unshared_square: Tensor  # (T,) the mean over all rows of |h|^2, counting only rows of unshared classes


class KernelBound:
    """The bound of every task, from the table of distances."""

    def __init__(self, rows: Rows, encoder: KernelEncoder, attention: Attention, detached: bool) -> None:
        self.encoder, self.detached = encoder, detached
        self._table = measure_distances(rows, attention, encoder.spread[0, 0])

    def kl(self, q_z: Gaussian, context: Context) -> Tensor:
        """The mean KL over all rows of each task: (T,)."""
        assert self.encoder.log_width is not None
        table = self._table
        width = self.encoder.log_width.exp().flatten()  # (1,): a mixture has one shared encoder
        weights = renormalise(context.beta[:, None], table.support)  # (T, C, T)
        precision = width.square().reciprocal()
        if self.detached:  # in the width of q alone the KL is at its minimum
            precision = precision.detach()
        mixed = 0.5 * precision * (table.share * (weights * table.distance).sum(-1)).sum(-1)  # (T,)
        scale = self.encoder.spread[0, 0] * width
        unshared = (table.share * ~table.support.any(-1)).sum(-1)  # (T,) part of the rows whose class no other has
        return mixed + 0.5 * (unshared * (scale.square() - 1 - 2 * scale.log()).sum() + table.unshared_square)


def measure_distances(rows: Rows, attention: Attention, spread: Tensor) -> Distances:
    """The table of all training rows, some at a time."""
    step = max(1, DISTANCES_AT_ONCE // (rows.n_tasks * len(spread)))
    shape = (rows.n_tasks, rows.n_classes)
    cell = rows.task * rows.n_classes + rows.label
    weight = rows.weight / rows.task_weight[rows.task]  # sums to 1 per task
    share = rows.x.new_zeros(shape).flatten().index_add(0, cell, weight)
    total = rows.x.new_zeros(len(share), rows.n_tasks)
    unshared_square = rows.x.new_zeros(rows.n_tasks)
    for index in torch.arange(len(rows.y), device=rows.x.device).split(step):
        h, supported = rows.x[index], attention.support[index]
        square = ((h[:, None] - attention.mix(rows.x, index)) / spread).square().sum(-1)  # (B, T)
        total.index_add_(0, cell[index], weight[index, None] * square * supported)
        norm = h.square().sum(-1) * ~supported.any(-1)
        unshared_square.index_add_(0, rows.task[index], weight[index] * norm)
    distance = total / share.clamp_min(torch.finfo(share.dtype).tiny)[:, None]
    others = ~torch.eye(rows.n_tasks, dtype=torch.bool, device=rows.x.device)
    support = others[:, None] & rows.class_mask.T
    return Distances(share.view(shape), distance.view(*shape, -1), support, unshared_square)
