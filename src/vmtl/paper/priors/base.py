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
from vmtl.data.rows import Batch, Rows
from vmtl.paper.distributions import Posterior
from vmtl.paper.encoders import Encoder
from vmtl.paper.settings import Settings


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
    settings : Settings
        Read by the mixture prior.
    class_mask : Tensor (T, C)
        Which classes each task saw.
    size : int
        Length of w, the bias included.
    """

    #: The posteriors it is for: a Gaussian costs a KL, a delta minus its log density.
    posteriors: tuple[Literal["gaussian", "delta"], ...]
    #: Whether mixing weights alpha exist.
    mixes = False
    #: Steps between two closed-form updates; 0 means none.
    update_every = 0

    def __init__(self, settings: Settings, class_mask: Tensor, size: int) -> None:
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
    settings : Settings
        Read by the mixture prior.
    rows : Rows
        The training rows of all tasks.
    latent_dim : int
        K, the size of z.
    """

    #: Whether mixing weights beta exist.
    mixes = False

    def __init__(self, settings: Settings, rows: Rows, latent_dim: int) -> None:
        super().__init__()

    def kl(self, q_z: Posterior, encoder: Encoder, context: Context) -> Tensor:
        """KL(q(z) || p(z)), the mean over the rows of each task in the batch: (T,).

        ``encoder`` is the network that made ``q_z``; the mixture also encodes the rows of the other tasks with it.
        """
        raise NotImplementedError
