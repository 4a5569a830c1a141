"""The objective (Eq. 11), term by term and task by task."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from vmtl.data.rows import Batch
from vmtl.model.model import Model, Outputs


@dataclass(frozen=True)
class Terms:
    """Raw terms, each (T,): mean NLL over rows, mean KL_z over rows, KL_w and the entropy term in nats."""

    nll: Tensor
    kl_z: Tensor
    kl_w: Tensor
    entropy: Tensor


@dataclass(frozen=True)
class Scales:
    """Multipliers at one step."""

    kl_z: float
    kl_w: float
    entropy: float


def terms(outputs: Outputs, batch: Batch) -> Terms:
    """The terms of every task."""
    return Terms(batch.mean(outputs.nll), outputs.kl_z, outputs.kl_w, outputs.entropy)


def task_losses(model: Model, values: Terms, scales: Scales) -> Tensor:
    """nll + kl_scale_z KL_z + (kl_scale_w KL_w + entropy_weight C K KL(alpha || start)) / N_t: (T,).

    With both scales 1 and no entropy term this is minus the ELBO of the task divided by N_t.
    """
    shared = scales.kl_w * values.kl_w + scales.entropy * values.entropy + model.likelihood.penalty()
    return values.nll + scales.kl_z * values.kl_z + shared / model.task_rows


def task_shares(model: Model) -> Tensor:
    """How much each task's loss counts: alike ("tasks"), or by its rows ("rows", Eq. 11)."""
    rows = model.task_rows
    if model.settings.task_weight == "rows":
        return rows / rows.sum()
    return torch.full_like(rows, 1 / len(rows))
