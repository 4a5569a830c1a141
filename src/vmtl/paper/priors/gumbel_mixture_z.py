"""The paper's prior of z (Eq. 9): a mixture of the encodings that the other tasks have of a row.

p(z_tn | x_tn, others) = sum_{i != t} beta_tni q(z | dropout(f(x_tn, D_i)))

where
    q(z | .) = ``encoder``, the network that also makes q(z | x), (U, T-1, K) for the U different rows of a piece
    f(x_tn, D_i) = ``Attention.mix`` (Eq. 10), an average over the rows of task i that have the label of n
    beta_tni = ``OtherTasks.weights`` (T, N, T-1), of ``context.beta`` (T, T)

and KL_t = mean_n KL(q(z_tn) || p(z_tn | x_tn, others)).

Dropout: the paper's table of the inference network phi has it, with p = 0.7, after the cross attention and before the
first layer, and says no more. Here every row has a mask of its own for each other task (``prior_dropout``). The masks
are made from one seed for each task, so that they are the same when a piece is computed a second time for gradients.

Where we depart from the paper: a task without the row's class is left out of beta for that row; if none is left, the
prior is N(0, I). Gradients pass through the prior unless ``prior_gradient_z`` is ``detached``, which is the paper's
"last iteration": nothing then keeps the prior's scale from falling (docs/presets.md).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from vmtl._utils.noise import Noise
from vmtl.data.rows import Rows
from vmtl.paper.attention import Attention
from vmtl.paper.distributions import Gaussian, Posterior, standard_normal_kl
from vmtl.paper.encoders import Encoder
from vmtl.paper.priors.base import Context, ZPrior
from vmtl.paper.priors.mixture_kl import mixture_kl
from vmtl.paper.priors.other_tasks import OtherTasks
from vmtl.paper.priors.row_bound import row_bound
from vmtl.paper.settings import Settings

#: Numbers in the components of the tasks that are worked on at once; with gradients, the backward pass
#: computes each piece again, so that the memory of a step does not grow with the square of the tasks.
ENCODED_AT_ONCE = 4_000_000


class GumbelMixtureZ(ZPrior):
    """p(z_tn | x_tn, others) = sum_{i != t} beta_tni q(z | dropout(f(x_tn, D_i)))."""

    mixes = True

    def __init__(self, settings: Settings, rows: Rows, latent_dim: int) -> None:
        super().__init__(settings, rows, latent_dim)
        self.settings, self.rows = settings, rows
        self.attention = Attention(rows, settings.attention_scale)
        self.others = OtherTasks(rows, self.attention.support)

    def kl(self, q_z: Posterior, encoder: Encoder, context: Context) -> Tensor:
        """KL(q(z) || p(z)), the mean over the rows of each task: (T,)."""
        assert isinstance(q_z, Gaussian)
        index = context.batch.index  # (T, N)
        weights = self.others.weights(context.beta, index)  # (T, N, T-1)
        draws = self._draws(q_z, context.noise)
        seeds = context.noise.seeds(len(index)) if self._drops(encoder) else None
        with torch.set_grad_enabled(self._keeps_graph):
            values = self._values(encoder)

        def of_tasks(start: int, stop: int) -> Tensor:
            part = slice(start, stop)
            masks = None if seeds is None else self._masks(seeds[part], index.shape[1], encoder, context.noise)
            components, place = self._components(encoder, values, index[part], masks)
            noise = None if draws is None else draws[:, part]
            return self._kl_to(Gaussian(q_z.mean[part], q_z.scale[part]), components, place, weights[part], noise)

        width = max(q_z.mean.shape[-1], values.shape[-1])
        divergence = self._in_pieces(of_tasks, len(index), width * weights[0].numel())  # (T, N)
        if self.others.some_alone:
            divergence = torch.where(self.others.alone(index), standard_normal_kl(q_z), divergence)
        return context.batch.mean(divergence)

    def _drops(self, encoder: Encoder) -> bool:
        """Whether there is dropout on the averages."""
        return self.settings.prior_dropout and encoder.dropout > 0

    def _commutes(self, encoder: Encoder) -> bool:
        """Whether the first layer may be applied before the average."""
        return encoder.commutes and not self._drops(encoder)

    @property
    def _keeps_graph(self) -> bool:
        """Whether gradients pass through the components."""
        return self.settings.prior_gradient_z != "detached" and torch.is_grad_enabled()

    def _draws(self, q_z: Gaussian, noise: Noise) -> Tensor | None:
        """Standard normal numbers for the monte-carlo form: (L M, T, N, K)."""
        if self.settings.kl_form != "monte-carlo":
            return None
        return noise.normal(self.settings.n_z * self.settings.n_w, *q_z.mean.shape)

    def _values(self, encoder: Encoder) -> Tensor:
        """What is averaged: the training rows, after the first affine layer where that commutes: (n, F)."""
        return encoder.first(self.rows.x[None]).squeeze(0) if self._commutes(encoder) else self.rows.x

    def _masks(self, seeds: list[int], n_rows: int, encoder: Encoder, noise: Noise) -> Tensor:
        """Dropout masks of the averages of some tasks' rows, those of each task from its seed: (T', N, T-1, D)."""
        shape = (n_rows, self.others.index.shape[1], self.rows.x.shape[1])
        return torch.stack([noise.with_seed(seed).keep(shape, encoder.dropout) for seed in seeds])

    def _components(
        self, encoder: Encoder, values: Tensor, index: Tensor, masks: Tensor | None
    ) -> tuple[Gaussian, Tensor]:
        """q(z | f(x_n, D_i)) of rows and every other task, (U, T-1, K); and where those of ``index`` are: (T', N)."""
        with torch.set_grad_enabled(self._keeps_graph):
            if masks is None:  # a batch may hold a row many times
                rows, place = index.unique(return_inverse=True)
            else:
                rows, place = index.flatten(), torch.arange(index.numel(), device=index.device).view_as(index)
            averages = self.attention.mix(values, rows, self.others.index[self.rows.task[rows]])  # (U, T-1, F)
            if masks is not None:
                averages = averages * masks.flatten(0, 1)
            posterior = encoder.posterior(averages) if self._commutes(encoder) else encoder(averages)
        assert isinstance(posterior, Gaussian)
        return posterior, place

    def _kl_to(self, q: Gaussian, components: Gaussian, place: Tensor, weights: Tensor, noise: Tensor | None) -> Tensor:
        """KL of rows with the posterior ``q`` (T', N, K) to their mixtures: (T', N)."""
        if self.settings.kl_form == "bound":
            flat = Gaussian(q.mean.flatten(0, 1), q.scale.flatten(0, 1))
            return row_bound(flat, components, weights.flatten(0, 1), place.flatten()).view_as(place)
        single = Gaussian(q.mean.unsqueeze(-2), q.scale.unsqueeze(-2))  # (T', N, 1, K)
        noise = None if noise is None else noise.unsqueeze(-2)
        form = self.settings.kl_form
        return mixture_kl(form, single, components.at(place), weights.unsqueeze(-2), noise).squeeze(-1)

    def _in_pieces(self, of_tasks: Callable[[int, int], Tensor], n_tasks: int, numbers: int) -> Tensor:
        """``of_tasks(start, stop)`` of all tasks, in pieces if a task's components have many ``numbers``: (T, N)."""
        step = max(1, ENCODED_AT_ONCE // numbers)
        pieces = [(start, min(start + step, n_tasks)) for start in range(0, n_tasks, step)]
        if len(pieces) == 1 or not self._keeps_graph:
            return torch.cat([of_tasks(*piece) for piece in pieces])
        again = partial(checkpoint, of_tasks, use_reentrant=False, preserve_rng_state=False)
        return torch.cat([again(*piece) for piece in pieces])
