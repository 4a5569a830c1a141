"""Early stopping on a hold-out of the training rows (off by default)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.paper.logits import affine
from vmtl.paper.training.training import Progress, Trainer


class StopTraining(Exception):
    """Raised by a hook to end training before its last step."""


def hold_out(rows: Rows, seed: int, share: float = 0.2) -> tuple[Rows, Rows]:
    """The rows to train on, and a ``share`` of the rows of each task and class, rounded down, that is kept from it."""
    generator = np.random.default_rng(seed)
    cell = (rows.task * rows.n_classes + rows.label).cpu().numpy()
    shuffled = generator.permutation(len(cell))
    order = shuffled[np.argsort(cell[shuffled], kind="stable")]  # cells one after the other, shuffled inside
    _, start, counts = np.unique(cell[order], return_index=True, return_counts=True)
    rank = np.arange(len(cell)) - np.repeat(start, counts)
    held = np.zeros(len(cell), dtype=bool)
    held[order] = rank < (share * np.repeat(counts, counts)).astype(int)
    if not held.any():
        raise ValueError("early_stopping needs a class with at least 5 rows in some task; set early_stopping=False.")
    train, kept = (torch.from_numpy(np.flatnonzero(mask)).to(rows.task.device) for mask in (~held, held))
    return rows.take(train), rows.take(kept)


class EarlyStopping:
    """Keeps the weights that predict the held-out rows best.

    Their loss is computed 50 times per run, and training stops after ``patience`` times without improvement.
    The best weights so far live in ``trainer.extras``, so a checkpoint keeps them.
    """

    n_evaluations = 50

    def __init__(self, held_out: Rows, patience: int = 10) -> None:
        self.patience = patience
        self._batch = held_out.batch(*held_out.by_task)
        self._counts = held_out.task_weight  # (T,)

    def __call__(self, trainer: Trainer, progress: Progress) -> None:
        if progress.step % max(1, progress.total // self.n_evaluations):
            return
        loss, extras = self._loss(trainer), trainer.extras
        if loss < extras.get("best", torch.inf):
            extras.update({f"weights.{k}": v.clone() for k, v in trainer.model.state_dict().items()})
            extras["best"], extras["waited"] = loss, torch.zeros(())
        else:
            extras["waited"] = extras.get("waited", torch.zeros(())) + 1
        if extras["waited"] >= self.patience:
            raise StopTraining

    def finish(self, trainer: Trainer) -> None:
        """Put the best weights back."""
        prefix = "weights."
        best = {k.removeprefix(prefix): v for k, v in trainer.extras.items() if k.startswith(prefix)}
        if best:
            trainer.model.load_state_dict(best)

    @torch.no_grad()
    def _loss(self, trainer: Trainer) -> Tensor:
        model = trainer.model
        logits = affine(model.encoder(self._batch.x).mean, model.q_w().mean)
        losses = self._batch.mean(model.likelihood.nll(logits[None], self._batch.y))
        return (losses * self._counts).sum() / self._counts.sum()
