"""The paper's prior of z: a mixture of what the other tasks say about a row (Eq. 9)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from vmtl.data.rows import Rows
from vmtl.model.attention import Attention
from vmtl.model.distributions import Gaussian, Posterior, standard_normal_kl
from vmtl.model.encoders import Encoder, KernelEncoder, LinearEncoder
from vmtl.model.mixing import renormalise
from vmtl.model.priors.base import Context, PriorSettings, ZPrior
from vmtl.model.priors.linear_bound import LinearBound
from vmtl.model.priors.mixture_kl import mixture_kl
from vmtl.model.priors.row_bound import row_bound

#: Numbers in one piece of the table of distances.
CHUNK = 8_000_000
#: Numbers in the components of the tasks that are worked on at once; with gradients, each piece is made again on
#: the way back, so that the memory of a step does not grow with the square of the tasks.
PIECE = 4_000_000


class GumbelMixtureZ(ZPrior):
    """p(z_tn) = sum_{i != t} beta_ti q(z | f(x_tn, D_i)), f the label-aware attention average (Eq. 10).

    A task without the row's class is left out of beta for that row; if none is left, the prior is N(0, I).
    The prior path has no dropout.
    """

    mixes = True

    def __init__(self, settings: PriorSettings, rows: Rows, encoder: Encoder) -> None:
        super().__init__(settings, rows, encoder)
        self.settings, self.rows, self.attention = settings, rows, Attention(rows)
        everyone = torch.arange(rows.n_tasks, device=rows.task.device)
        pairs = everyone.expand(len(everyone), -1)
        self._others = pairs[pairs != everyone[:, None]].view(len(everyone), -1)  # (T, T-1)
        self._full_support = bool(rows.class_mask.all())
        self._some_alone = not bool(self.attention.support.any(-1).all())
        self._linear: LinearBound | None = None
        self._table: tuple[Tensor, Tensor, Tensor, Tensor] | None = None

    def kl(self, q_z: Posterior, context: Context) -> Tensor:
        assert isinstance(q_z, Gaussian)
        if isinstance(context.encoder, KernelEncoder) and self.settings.kl_form == "bound":
            return self._fixed_kl(context.encoder, context)
        if self.settings.kl_form == "bound" and LinearBound.fits(context.encoder, self.rows):
            return self._linear_kl(q_z, context)
        index = context.batch.index
        weights = self._weights(context.beta, index)  # (T, N, T-1)
        sampled = self.settings.kl_form == "monte-carlo"
        eps = context.noise.normal(self.settings.draws, *q_z.mean.shape) if sampled else None
        keep_graph = self.settings.gradient_z != "detached" and torch.is_grad_enabled()
        with torch.set_grad_enabled(keep_graph):
            pool = self._pool(context.encoder)

        def of_tasks(start: int, stop: int) -> Tensor:
            own = Gaussian(q_z.mean[start:stop], q_z.scale[start:stop])
            rows, place = index[start:stop].unique(return_inverse=True)  # a batch may hold a row many times
            with torch.set_grad_enabled(keep_graph):
                components = self._components(context.encoder, pool, rows)  # (U, T-1, K)
            noise = None if eps is None else eps[:, start:stop]
            return self._divergence(own, components, place, weights[start:stop], noise)

        step = max(1, PIECE // (q_z.mean[0].numel() * weights.shape[-1]))
        pieces = [(start, min(start + step, len(index))) for start in range(0, len(index), step)]
        if len(pieces) > 1 and keep_graph:
            parts = [checkpoint(of_tasks, *piece, use_reentrant=False, preserve_rng_state=False) for piece in pieces]
        else:
            parts = [of_tasks(*piece) for piece in pieces]
        divergence = torch.cat(parts)
        if self._some_alone:
            divergence = torch.where(self._alone(context), standard_normal_kl(q_z), divergence)
        return context.batch.mean(divergence)

    def _alone(self, context: Context) -> Tensor:
        """Which rows of the batch have a class that no other task has: (T, N)."""
        return ~self.attention.support[context.batch.index].any(-1)

    def _linear_kl(self, q_z: Gaussian, context: Context) -> Tensor:
        assert isinstance(context.encoder, LinearEncoder)
        if self._linear is None:
            self._linear = LinearBound(self.rows, self.attention, self._others)
        weights = self._weights(context.beta, context.batch.index)
        detached = self.settings.gradient_z == "detached"
        found = self._linear.kl(q_z, context.encoder, weights, context.batch, detached)
        if self._some_alone:
            found = found + context.batch.mean(standard_normal_kl(q_z) * self._alone(context))
        return found

    def _divergence(
        self, q_z: Gaussian, components: Gaussian, place: Tensor, weights: Tensor, eps: Tensor | None
    ) -> Tensor:
        """KL of the rows of some tasks to their components, in the form of the settings: (T', N).

        where row ``place`` (T', N) of the components belongs to each row of q_z.
        """
        if self.settings.kl_form == "bound":
            flat = Gaussian(q_z.mean.flatten(0, 1), q_z.scale.flatten(0, 1))
            return row_bound(flat, components, weights.flatten(0, 1), place.flatten()).view_as(place)
        q = Gaussian(q_z.mean.unsqueeze(-2), q_z.scale.unsqueeze(-2))  # (T', N, 1, K)
        noise = None if eps is None else eps.unsqueeze(-2)
        return mixture_kl(self.settings.kl_form, q, components.at(place), weights.unsqueeze(-2), noise).squeeze(-1)

    def _weights(self, beta: Tensor, index: Tensor) -> Tensor:
        """beta of the other tasks for every row of ``index`` (T, N), restricted to those with its class."""
        weights = beta.gather(1, self._others)[:, None]  # (T, 1, T-1)
        if not self._full_support:
            support = self.attention.support[index].gather(-1, self._others[:, None].expand(*index.shape, -1))
            weights = renormalise(weights, support)
        return weights.expand(*index.shape, -1)

    def _pool(self, encoder: Encoder) -> Tensor:
        """The training rows, through the first affine layer where that commutes with the attention average: (n, F)."""
        return encoder.first(self.rows.x[None]).squeeze(0) if encoder.commutes else self.rows.x

    def _components(self, encoder: Encoder, pool: Tensor, rows: Tensor) -> Gaussian:
        """q(z | f(x_n, D_i)) of the training rows ``rows`` (U,) and every other task: (U, T-1, K)."""
        mixed = self.attention.mix(pool, rows, self._others[self.rows.task[rows]])  # (U, T-1, F)
        posterior = encoder.posterior(mixed)
        assert isinstance(posterior, Gaussian)
        return posterior

    def _fixed_kl(self, encoder: KernelEncoder, context: Context) -> Tensor:
        """With a fixed mean and one width the bound needs a table of distances that is made once.

        KL_t = sum_c share_tc sum_i beta_tci d_tci / (2 s^2), where share_tc = part of task t's rows in class
        c; d_tci = mean over these rows of |(h_n - f(h_n, D_i)) / spread|^2; s = the learned width, the same on
        both sides of the KL. Rows of a class that no other task has are measured against N(0, I). The mean is
        over all training rows, also when the rest of the step looks at a batch of them.
        """
        assert encoder.log_width is not None
        if self._table is None:
            self._table = self._measure(encoder)
        share, distance, support, lonely_square = self._table
        width = encoder.log_width.exp().flatten()  # (1,): a mixture has one shared encoder
        weights = renormalise(context.beta[:, None], support)  # (T, C, T)
        precision = width.square().reciprocal()
        if self.settings.gradient_z == "detached":  # in the width of q alone the KL is at its minimum
            precision = precision.detach()
        mixed = 0.5 * precision * (share * (weights * distance).sum(-1)).sum(-1)  # (T,)
        scale = encoder.spread[0, 0] * width
        lonely = (share * ~support.any(-1)).sum(-1)  # (T,) part of the rows with nobody to ask
        return mixed + 0.5 * (lonely * (scale.square() - 1 - 2 * scale.log()).sum() + lonely_square)

    def _measure(self, encoder: KernelEncoder) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """share (T, C), distance (T, C, T), support (T, C, T) and the lonely rows' mean |h|^2 (T,)."""
        rows, spread = self.rows, encoder.spread[0, 0]
        chunk = max(1, CHUNK // (rows.n_tasks * len(spread)))
        shape = (rows.n_tasks, rows.n_classes)
        cell = rows.task * rows.n_classes + rows.label
        weight = rows.weight / rows.task_weight[rows.task]  # sums to 1 per task
        share = rows.x.new_zeros(shape).flatten().index_add(0, cell, weight)
        total = rows.x.new_zeros(len(share), rows.n_tasks)
        lonely_square = rows.x.new_zeros(rows.n_tasks)
        for index in torch.arange(len(rows.y), device=rows.x.device).split(chunk):
            h, supported = rows.x[index], self.attention.support[index]
            square = ((h[:, None] - self.attention.mix(rows.x, index)) / spread).square().sum(-1)  # (B, T)
            total.index_add_(0, cell[index], weight[index, None] * square * supported)
            norm = h.square().sum(-1) * ~supported.any(-1)
            lonely_square.index_add_(0, rows.task[index], weight[index] * norm)
        distance = total / share.clamp_min(torch.finfo(share.dtype).tiny)[:, None]
        others = ~torch.eye(rows.n_tasks, dtype=torch.bool, device=rows.x.device)
        support = others[:, None] & rows.class_mask.T  # (T, C, T)
        return share.view(shape), distance.view(*shape, -1), support, lonely_square
