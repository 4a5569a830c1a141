"""What a prior is, and what it may look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from vmtl._utils.noise import Noise
from vmtl.config.choices import Form, PriorGradient
from vmtl.data.rows import Batch, Rows
from vmtl.model.distributions import Posterior
from vmtl.model.encoders import Encoder


@dataclass(frozen=True)
class PriorSettings:
    """How the mixture priors are read; the other priors ignore it."""

    sharing: float | None = 1.0  # None: inferred per task
    kl_form: Form = "bound"
    gradient_w: PriorGradient = "detached"
    gradient_z: PriorGradient = "both"
    draws: int = 10  # of the monte-carlo form


@dataclass(frozen=True)
class Context:
    """One step, as the priors see it."""

    batch: Batch
    encoder: Encoder
    alpha: Tensor  # (T, T) mixing weights of w
    beta: Tensor  # (T, T) mixing weights of z
    noise: Noise


class WPrior(nn.Module):
    """A prior over all tasks' w; ``penalty`` is what it costs q(w), in nats per task."""

    #: The posterior it is for: "gaussian" priors cost a KL, "delta" priors a negative log density.
    posterior: Literal["gaussian", "delta"]
    #: Whether mixing weights alpha exist.
    mixes = False
    #: Steps between two closed-form updates; 0 means none.
    update_every = 0

    def __init__(self, settings: PriorSettings, class_mask: Tensor, size: int) -> None:
        super().__init__()

    def penalty(self, q_w: Posterior, context: Context) -> Tensor:
        raise NotImplementedError

    def marginal(self, q_w: Posterior, alpha: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of the prior itself, (T, C, K) each: what an unseen class is given."""
        return torch.zeros_like(q_w.mean), torch.ones_like(q_w.mean)

    def update(self, q_w: Posterior) -> None:
        """A closed-form step between gradient steps, such as the M step of EM."""


class ZPrior(nn.Module):
    """A prior over the representation of every row; ``kl`` is (T,), the mean over the rows of each task."""

    mixes = False

    def __init__(self, settings: PriorSettings, rows: Rows, encoder: Encoder) -> None:
        super().__init__()

    def kl(self, q_z: Posterior, context: Context) -> Tensor:
        raise NotImplementedError
