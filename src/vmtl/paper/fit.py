"""One fit: from training rows to a posterior, by gradient steps on the objective of a method."""

from __future__ import annotations

import torch

from vmtl.data.rows import Rows
from vmtl.paper.fitted import FittedVMTL
from vmtl.paper.method import Method
from vmtl.paper.model import Layout, Model
from vmtl.paper.settings import Settings
from vmtl.paper.training.run import Callbacks, train_model
from vmtl.paper.training.training import check_weights


def fit(
    method: Method,
    settings: Settings,
    rows: Rows,
    seed: int,
    *,
    held_out: Rows | None = None,
    callbacks: Callbacks | None = None,
) -> FittedVMTL:
    """The posterior of ``method`` given the training rows.

    Parameters
    ----------
    method : Method
        What is fitted.
    settings : Settings
        How it is trained, and how it predicts.
    rows : Rows
        Training rows, as they are: the encoder reads their columns.
    seed : int
        Of all random numbers, in training and in predictions.
    held_out : Rows, optional
        Rows that are kept from training and decide when to stop (``training.early_stopping``).
    callbacks : Callbacks, optional
        Functions that are called during the run.

    Returns
    -------
    FittedVMTL
        The fitted model; none of its weights is trained further.
    """
    model = build_model(method, settings, rows, seed)
    history = train_model(model, rows, held_out, seed, callbacks or Callbacks())
    check_weights(model, model.n_tasks, history.step[-1])
    return FittedVMTL(model.requires_grad_(False), history, seed)


def build_model(method: Method, settings: Settings, rows: Rows, seed: int) -> Model:
    """The model of a method for these rows, with its initial weights."""
    model = Model(method, settings, Layout.of(rows, amortised=method.head == "amortised")).to(rows.x)
    model.reset(torch.Generator(rows.x.device).manual_seed(seed))
    return model
