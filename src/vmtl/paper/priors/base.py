"""What a prior is, and what it is given.

A prior of w costs ``penalty`` nats per task; a prior of z costs ``kl`` nats per task, the mean over its rows: the two
KL terms of Eq. 5 and 11.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from vmtl._utils.noise import Noise
from vmtl.paper.choices import AttentionScale, KLForm, PriorGradient
from vmtl.data.rows import Batch, Rows
from vmtl.paper.distributions import Posterior
from vmtl.paper.encoders import Encoder


@dataclass(frozen=True)
class PriorSettings:
    """Choices of the mixture priors; the other priors ignore them."""

    sharing: float | None = 1.0  # None: inferred per task
    kl_form: KLForm = "bound"
    gradient_w: PriorGradient = "detached"
    gradient_z: PriorGradient = "both"
    draws: int = 10  # of the monte-carlo form
    attention: AttentionScale = "root"
    dropout: bool = False  # on what is encoded for the prior of z
    bias_slip: bool = False  # of the authors' VMTL-AC


@dataclass(frozen=True)
class Context:
    """What the priors are given of one step."""

    batch: Batch
    alpha: Tensor  # (T, T) mixing weights of w
    beta: Tensor  # (T, T) mixing weights of z
    noise: Noise


class WPrior(nn.Module):
    """A prior over all tasks' w.

    Parameters
    ----------
    settings : PriorSettings
        Read by the mixture priors.
    class_mask : Tensor (T, C)
        Which classes each task saw.
    size : int
        Length of w, the bias included.
    """

    #: The posteriors it is for: a Gaussian costs a KL, a delta minus its log density.
    posteriors: tuple[Literal["gaussian", "delta"], ...]
    #: What tasks are to each other under it, if the exact model knows such a prior: nothing, alike, or one learns from
    #: another.
    exact: Literal["independent", "exchangeable", "mixture"] | None = None
    #: Whether mixing weights alpha exist.
    mixes = False
    #: Steps between two closed-form updates; 0 means none.
    update_every = 0

    def __init__(self, settings: PriorSettings, class_mask: Tensor, size: int) -> None:
        super().__init__()

    def penalty(self, q_w: Posterior, context: Context) -> Tensor:
        """What the prior costs q(w) of every task, in nats: (T,)."""
        raise NotImplementedError

    def marginal(self, q_w: Posterior, alpha: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of the prior itself, (T, C, K) each: what an unseen class is given."""
        return torch.zeros_like(q_w.mean), torch.ones_like(q_w.mean)

    def update(self, q_w: Posterior) -> None:
        """A closed-form step between gradient steps, such as the M step of EM."""


class ZPrior(nn.Module):
    """A prior over the representation of every row.

    Parameters
    ----------
    settings : PriorSettings
        Read by the mixture prior.
    rows : Rows
        The training rows of all tasks.
    encoder : Encoder
        What makes q(z | x); the mixture encodes the other tasks' rows with it.
    """

    #: Whether mixing weights beta exist.
    mixes = False

    def __init__(self, settings: PriorSettings, rows: Rows, encoder: Encoder) -> None:
        super().__init__()

    def kl(self, q_z: Posterior, context: Context) -> Tensor:
        """KL(q(z) || p(z)), the mean over the rows of each task in the batch: (T,)."""
        raise NotImplementedError
