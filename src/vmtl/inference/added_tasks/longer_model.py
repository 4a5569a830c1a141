"""A fitted model with a task or with features more, all other tensors as they are."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.inference.features.feature_parts import ABSENT
from vmtl.inference.features.maps import feature_spread
from vmtl.inference.variational.history import History
from vmtl.model.encoders import KernelEncoder
from vmtl.model.model import Layout, Model
from vmtl.results.relatedness import TaskStructure


def wider_model(model: Model, rows: Rows) -> Model:
    """The same model for the features of ``rows``, the first of which it knows; its tasks have no weight for others."""
    assert isinstance(model.encoder, KernelEncoder)
    known, size = model.encoder.latent_dim, rows.x.shape[1]
    if size == known:
        return model
    spread = torch.cat([model.encoder.spread[:, 0], feature_spread(rows, False)[:, known:].to(model.encoder.spread)], 1)
    wider = _empty(model, model.class_mask, model.task_rows, spread)
    for name, value in wider.state_dict().items():
        before = model.state_dict()[name]
        if name.startswith(("head.", "prior_w.")) and value.shape != before.shape:  # one number per feature
            if name.startswith("head."):
                value.fill_(ABSENT if name == "head.log_scale" else 0.0)
            value[..., :known], value[..., -1] = before[..., :known], before[..., -1]
        elif name != "encoder.spread":
            value.copy_(before)
    return wider


def longer_model(model: Model, rows: Rows, structure: TaskStructure | None, task: int | None = None) -> Model:
    """The same model with the ``rows`` of one task: a new one, or more of the ``task`` of that number.

    Every tensor keeps its entries of the known tasks; those of a new one are left to be set.
    """
    mask, weight = rows.class_mask.to(model.class_mask), rows.task_weight.to(model.task_rows)
    if task is None:
        mask, weight = torch.cat([model.class_mask, mask]), torch.cat([model.task_rows, weight])
    else:
        number = torch.tensor([task])
        mask = model.class_mask.index_put((number,), model.class_mask[task] | mask[0])
        weight = model.task_rows.index_add(0, number, weight)
    spread = getattr(model.encoder, "spread", model.task_rows.new_zeros(1, 1, 1))[:, 0]
    longer = _empty(model, mask, weight, spread)
    known = model.state_dict()
    for name, value in longer.state_dict().items():
        if name not in ("class_mask", "task_rows"):
            _copy_into(value, known.get(name))
    if task is None and structure is not None:
        longer.start_from(structure)
    return longer.requires_grad_(False)


def _empty(model: Model, class_mask: Tensor, task_rows: Tensor, spread: Tensor) -> Model:
    """A model like it of these tasks and features."""
    nothing = model.task_rows.new_zeros(1, 1, 1)  # no amortised head
    layout = Layout(class_mask, task_rows, spread.shape[-1], model.is_classification, spread, nothing)
    return Model(model.method, model.settings, layout).to(model.task_rows).requires_grad_(False)


def _copy_into(value: Tensor, known: Tensor | None) -> None:
    """Entries of the known tasks, which come first on every axis; nothing where a table has become too large."""
    if known is not None and all(size <= room for size, room in zip(known.shape, value.shape, strict=True)):
        value[tuple(slice(size) for size in known.shape)] = known


def longer_history(history: History, n_tasks: int, task: int, loss: float) -> History:
    """The same with the training loss of a task at the last step; a new task has none before."""

    def longer(values: list[Tensor]) -> list[Tensor]:
        return [torch.cat([value, value.new_full((n_tasks - len(value),), torch.nan)]) for value in values]

    nll = longer(history.nll)
    nll[-1][task] = loss
    return replace(history, nll=nll, kl_z=longer(history.kl_z), kl_w=longer(history.kl_w))
