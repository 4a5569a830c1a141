"""What a model says of its training rows: moments of their outputs, block by block."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl.data.rows import Rows
from vmtl.model.distributions import Delta
from vmtl.model.likelihoods import GaussianNoise
from vmtl.model.logits import logit_moments
from vmtl.model.model import Model


@dataclass(frozen=True)
class TrainingMoments:
    """Mean and variance of the outputs of all rows, and the variance that the widths of q(w) have no part in."""

    mean: Tensor  # (n, C)
    variance: Tensor  # (n, C)
    variance_of_z: Tensor  # (n, C)

    @classmethod
    @torch.no_grad()
    def of(cls, model: Model, rows: Rows) -> TrainingMoments:
        q_w, values = model.q_w(), rows.x.new_zeros(3, len(rows.y), rows.n_classes)
        for block in rows.by_blocks:
            q_z, q_part = model.encoder(block.x, block.task), q_w.at(block.task)  # (G, M, K), (G, C, K + 1)
            moments = logit_moments(q_z, q_part)
            of_z = logit_moments(q_z, Delta(q_part.mean)).variance if q_z.stochastic else torch.zeros_like(moments.mean)
            there = block.number >= 0
            values[:, block.number[there]] = torch.stack([moments.mean, moments.variance, of_z])[:, there]
        mean, variance, of_z = values.double().cpu()
        scale = float(model.logit_scale)
        return cls(scale * mean, scale**2 * variance.clamp_min(0), scale**2 * of_z.clamp_min(0))


def training_loss(model: Model, rows: Rows, moments: TrainingMoments) -> Tensor:
    """(T,) loss of each task's training rows at the means, summed."""
    y = rows.y.cpu()
    if rows.is_classification:
        loss = F.cross_entropy(moments.mean, y, reduction="none")
    else:
        assert isinstance(model.likelihood, GaussianNoise)
        noise = model.likelihood.scale().detach().cpu().double()[rows.task.cpu()]
        loss = 0.5 * ((moments.mean[:, 0] - y) / noise).square() + noise.log()
    return task_sum(rows, loss)


def task_sum(rows: Rows, values: Tensor) -> Tensor:
    """(T,) the weighted sum over the rows of each task of values (n,), in double precision."""
    total = torch.zeros(rows.n_tasks, dtype=torch.float64)
    return total.index_add(0, rows.task.cpu(), rows.weight.cpu().double() * values.cpu())
