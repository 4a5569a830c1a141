"""What a likelihood does for the search of hyperparameters, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from vmtl.gp.latent_prior import LatentPrior


@dataclass(frozen=True)
class Evaluation:
    """One prior of the latent function, and what the training rows say under it."""

    log_score: float  # how well held-out rows are predicted
    by_row: Tensor  # (n,) held-out log likelihood of each row
    held_out: Tensor  # (n, C) probabilities of held-out classes; (n, 1) left-out errors of a regression
    prior: LatentPrior  # in units of the targets
    dual: Tensor  # (n, L) a = K^-1 f, from all rows
    noise: float = 1.0  # deviation of the noise of a row of weight 1


class Likelihood(Protocol):
    """The targets of some training rows."""

    def evaluate(self, prior: LatentPrior) -> Evaluation:
        """Score a prior by held-out rows, and solve for the posterior under it."""
