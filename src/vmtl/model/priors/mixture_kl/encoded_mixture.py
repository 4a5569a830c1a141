"""KL of z to its mixture for any encoder and form: every attention average is encoded, some tasks at a time.

KL_t = mean_n KL(q(z_tn) || sum_{i != t} beta_tni q(z | f(x_tn, D_i)))

where
    q(z_tn) = ``q_z`` (T, N, K)
    f(x_tn, D_i) = ``Attention.mix``, the average of task i for a row (Eq. 10)
    q(z | f) = ``encoder.posterior`` of it, (U, T-1, K) for the U different rows of a piece
    beta_tni = ``OtherTasks.weights`` (T, N, T-1)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from vmtl._utils.noise import Noise
from vmtl.data.rows import Rows
from vmtl.model.attention import Attention
from vmtl.model.distributions import Gaussian, standard_normal_kl
from vmtl.model.encoders import Encoder
from vmtl.model.priors.base import Context, PriorSettings
from vmtl.model.priors.mixture_kl.forms import mixture_kl
from vmtl.model.priors.mixture_kl.other_tasks import OtherTasks
from vmtl.model.priors.mixture_kl.row_bound import row_bound

#: Numbers in the components of the tasks that are worked on at once; with gradients, the backward pass
#: computes each piece again, so that the memory of a step does not grow with the square of the tasks.
ENCODED_AT_ONCE = 4_000_000


class EncodedMixture:
    """The KL of every task's rows, in the form of the settings."""

    def __init__(self, settings: PriorSettings, rows: Rows, encoder: Encoder, attention: Attention) -> None:
        self.settings, self.rows, self.encoder, self.attention = settings, rows, encoder, attention
        self.others = OtherTasks(rows, attention.support)

    def kl(self, q_z: Gaussian, context: Context) -> Tensor:
        """The mean KL over the rows of each task: (T,)."""
        index = context.batch.index  # (T, N)
        weights = self.others.weights(context.beta, index)  # (T, N, T-1)
        draws = None
        if self.settings.kl_form == "monte-carlo":
            draws = context.noise.normal(self.settings.draws, *q_z.mean.shape)  # (S, T, N, K)
        with torch.set_grad_enabled(self._keeps_graph):
            pool = self._pool()

        def of_tasks(start: int, stop: int) -> Tensor:
            q = Gaussian(q_z.mean[start:stop], q_z.scale[start:stop])
            noise = None if draws is None else draws[:, start:stop]
            return self._kl_of_rows(q, index[start:stop], pool, weights[start:stop], noise, context.noise)

        divergence = self._in_pieces(of_tasks, len(index), q_z.mean[0].numel() * weights.shape[-1])  # (T, N)
        if self.others.some_alone:
            divergence = torch.where(self.others.alone(index), standard_normal_kl(q_z), divergence)
        return context.batch.mean(divergence)

    @property
    def _drops(self) -> bool:
        """Whether there is dropout on the averages."""
        return self.settings.dropout and self.encoder.dropout > 0

    @property
    def _commutes(self) -> bool:
        """Whether the first layer may be applied before the average."""
        return self.encoder.commutes and not self._drops

    @property
    def _keeps_graph(self) -> bool:
        """Whether gradients pass through the components."""
        return self.settings.gradient_z != "detached" and torch.is_grad_enabled()

    def _in_pieces(self, of_tasks: Callable[[int, int], Tensor], n_tasks: int, numbers: int) -> Tensor:
        """``of_tasks(start, stop)`` of all tasks, in pieces if a task's components have many ``numbers``."""
        step = max(1, ENCODED_AT_ONCE // numbers)
        pieces = [(start, min(start + step, n_tasks)) for start in range(0, n_tasks, step)]
        if len(pieces) == 1 or not self._keeps_graph:
            return torch.cat([of_tasks(*piece) for piece in pieces])
        again = partial(checkpoint, of_tasks, use_reentrant=False, preserve_rng_state=False)
        return torch.cat([again(*piece) for piece in pieces])

    def _kl_of_rows(
        self, q: Gaussian, index: Tensor, pool: Tensor, weights: Tensor, noise: Tensor | None, dropout: Noise
    ) -> Tensor:
        """KL of the rows ``index`` (T', N) of some tasks, whose posterior is ``q``: (T', N)."""
        if self._drops:  # every row has a mask of its own
            rows, place = index.flatten(), torch.arange(index.numel(), device=index.device).view_as(index)
        else:
            rows, place = index.unique(return_inverse=True)  # a batch may hold a row many times
        with torch.set_grad_enabled(self._keeps_graph):
            components = self._components(pool, rows, dropout)  # (U, T-1, K)
        if self.settings.kl_form == "bound":
            flat = Gaussian(q.mean.flatten(0, 1), q.scale.flatten(0, 1))
            return row_bound(flat, components, weights.flatten(0, 1), place.flatten()).view_as(place)
        single = Gaussian(q.mean.unsqueeze(-2), q.scale.unsqueeze(-2))  # (T', N, 1, K)
        noise = None if noise is None else noise.unsqueeze(-2)
        form = self.settings.kl_form
        return mixture_kl(form, single, components.at(place), weights.unsqueeze(-2), noise).squeeze(-1)

    def _pool(self) -> Tensor:
        """The training rows, through the first affine layer where that commutes with the attention average: (n, F)."""
        return self.encoder.first(self.rows.x[None]).squeeze(0) if self._commutes else self.rows.x

    def _components(self, pool: Tensor, rows: Tensor, dropout: Noise) -> Gaussian:
        """q(z | f(x_n, D_i)) of the training rows ``rows`` (U,) and every other task: (U, T-1, K)."""
        mixed = self.attention.mix(pool, rows, self.others.index[self.rows.task[rows]])  # (U, T-1, F)
        if self._commutes:
            posterior = self.encoder.posterior(mixed)
        else:
            posterior = self.encoder(mixed, None, dropout if self._drops else None)
        assert isinstance(posterior, Gaussian)
        return posterior
