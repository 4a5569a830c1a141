"""The paper's priors: a mixture of the other tasks' posteriors, for w (Eq. 6) and for z (Eq. 9)."""

from __future__ import annotations

import torch
from torch import Tensor

from vmtl.attention import Attention
from vmtl.batches import Rows
from vmtl.distributions import Gaussian, Posterior, standard_normal_kl
from vmtl.encoders import Encoder, KernelEncoder
from vmtl.gumbel import renormalise
from vmtl.noise import Noise
from vmtl.priors.base import Context, PriorSettings, WPrior, ZPrior
from vmtl.priors.mixture_kl import mixture_kl

#: Numbers in one piece of the table of distances.
CHUNK = 8_000_000


class GumbelMixtureW(WPrior):
    """p(w_tc) = sum_{i != t} alpha_tic N(r mu_ic, r^2 sigma_ic^2 + 1 - r^2).

    where mu_ic, sigma_ic = the posterior of task i, of the previous step if ``detached``; r = ``sharing``,
    1 in the paper, 0 gives N(0, I); alpha_tic = alpha_ti restricted to the tasks that saw class c. At r = 1
    evidence that goes round between tasks is counted again and again and variances fall to 0; a strength
    below 1 forgets a little at each hop. A class that no other task saw has the prior N(0, I).

    If ``sharing`` is not given it is inferred per task, and the components are N(r_t mu_ic, v_t), the law of w_t given
    the others in the exact Gaussian model (``vmtl.relatedness``): with a Gaussian likelihood the means of q(w) are then
    those of the exact joint posterior.
    """

    posterior = "gaussian"
    mixes = True
    support: Tensor
    sharing: Tensor
    variance: Tensor

    def __init__(self, settings: PriorSettings, class_mask: Tensor, size: int) -> None:
        super().__init__(settings, class_mask, size)
        self.settings = settings
        n_tasks = len(class_mask)
        others = ~torch.eye(n_tasks, dtype=torch.bool, device=class_mask.device)
        self.register_buffer("support", class_mask.T[:, None] & others, persistent=False)  # (C, T, T)
        self._some_alone = not bool(self.support.any(-1).all())
        r = 0.0 if settings.sharing is None else settings.sharing
        self.register_buffer("sharing", torch.full((n_tasks,), r))
        self.register_buffer("variance", torch.full((n_tasks,), 1 - r**2))

    def components(self, q_w: Gaussian) -> Gaussian:
        """What each task may draw its prior from: (C, T or 1, T, K), the shrunk posteriors of all tasks."""
        source = q_w.detach() if self.settings.gradient_w == "detached" else q_w
        mean, variance = source.mean.transpose(0, 1)[:, None], source.variance.transpose(0, 1)[:, None]
        if self.settings.sharing is not None:
            r = self.settings.sharing
            return Gaussian(r * mean, (r**2 * variance + (1 - r**2)).sqrt())
        shrunk = self.sharing[:, None, None] * mean
        return Gaussian(shrunk, self.variance.sqrt()[:, None, None].expand_as(shrunk))

    def penalty(self, q_w: Posterior, context: Context) -> Tensor:
        assert isinstance(q_w, Gaussian)
        q = Gaussian(q_w.mean.transpose(0, 1), q_w.scale.transpose(0, 1))  # (C, T, K)
        weights = renormalise(context.alpha, self.support)  # (C, T, T)
        if self.settings.sharing is None and self.settings.kl_form == "bound":
            divergence = self._conditional_bound(q, weights)
        else:
            divergence = self._divergence(q, self.components(q_w), weights, context.noise)
        if self._some_alone:
            divergence = torch.where(~self.support.any(-1), standard_normal_kl(q), divergence)
        return divergence.sum(0)  # (T,)

    def _divergence(self, q: Gaussian, components: Gaussian, weights: Tensor, noise: Noise) -> Tensor:
        """KL to the mixture in the form of the settings: (C, T)."""
        form, (n_classes, n_tasks, size) = self.settings.kl_form, q.mean.shape
        draws = None
        if form == "monte-carlo":
            draws = noise.normal(self.settings.draws, n_tasks, n_classes, size).transpose(1, 2)  # (S, C, T, K)
        if components.mean.shape[1] == 1:  # the same components for every task
            shared = Gaussian(components.mean[:, 0], components.scale[:, 0])
            return mixture_kl(form, q, shared, weights, draws)
        single = Gaussian(q.mean.unsqueeze(-2), q.scale.unsqueeze(-2))  # (C, T, 1, K)
        draws = None if draws is None else draws.unsqueeze(-2)
        return mixture_kl(form, single, components, weights.unsqueeze(-2), draws).squeeze(-1)

    def _conditional_bound(self, q: Gaussian, weights: Tensor) -> Tensor:
        """sum_i alpha_ti KL(q_t || N(r_t mu_i, v_t)) from two matrix products: (C, T).

        1/2 [ (sum s^2 + m^2 - 2 r m <mu> + r^2 <mu^2>) / v + K log v - sum log s^2 - K ], <.> the mean over alpha.
        """
        source = q.mean.detach() if self.settings.gradient_w == "detached" else q.mean
        r, v, size = self.sharing, self.variance, q.mean.shape[-1]
        cross = (q.mean * (weights @ source)).sum(-1)  # (C, T)
        square = (weights @ source.square().sum(-1, keepdim=True)).squeeze(-1)
        own = (q.variance + q.mean.square()).sum(-1)
        quadratic = (own - 2 * r * cross + r.square() * square) / v
        return 0.5 * (quadratic + size * (v.log() - 1) - 2 * q.scale.log().sum(-1))

    def marginal(self, q_w: Posterior, alpha: Tensor) -> tuple[Tensor, Tensor]:
        assert isinstance(q_w, Gaussian)
        weights = renormalise(alpha, self.support).unsqueeze(-2)  # (C, T, 1, T)
        components = self.components(q_w)
        mean = (weights @ components.mean).squeeze(-2)  # (C, T, K)
        second = (weights @ (components.variance + components.mean.square())).squeeze(-2)
        alone = ~self.support.any(-1, keepdim=True)
        variance = torch.where(alone, 1.0, second - mean.square())
        return mean.transpose(0, 1), variance.transpose(0, 1)


class GumbelMixtureZ(ZPrior):
    """p(z_tn) = sum_{i != t} beta_ti q(z | f(x_tn, D_i)), f the label-aware attention average (Eq. 10).

    A task without the row's class is left out of beta for that row; if none is left, the prior is N(0, I).
    The prior path has no dropout.
    """

    mixes = True

    def __init__(self, settings: PriorSettings, rows: Rows, attention: Attention | None, size: int) -> None:
        super().__init__(settings, rows, attention, size)
        assert attention is not None
        self.settings, self.rows, self.attention = settings, rows, attention
        everyone = torch.arange(rows.n_tasks, device=rows.task.device)
        self._others = everyone.expand(len(everyone), -1)[everyone != everyone[:, None]].view(len(everyone), -1)  # (T, T-1)
        self._full_support = bool(rows.class_mask.all())
        self._some_alone = not bool(attention.support.any(-1).all())
        self._table: tuple[Tensor, Tensor, Tensor, Tensor] | None = None

    def kl(self, q_z: Posterior, context: Context) -> Tensor:
        assert isinstance(q_z, Gaussian)
        if isinstance(context.encoder, KernelEncoder) and self.settings.kl_form == "bound":
            return self._fixed_kl(context.encoder, context)
        rows, place = context.batch.index.unique(return_inverse=True)  # a batch may hold a row many times
        with torch.set_grad_enabled(self.settings.gradient_z == "both"):
            components = self._components(context.encoder, rows, place)  # (T, N, T-1, K)
        weights = self._weights(context.beta, context.batch.index)  # (T, N, 1, T-1)
        form, draws = self.settings.kl_form, self.settings.draws
        noise = context.noise.normal(draws, *q_z.mean.shape).unsqueeze(-2) if form == "monte-carlo" else None
        q = Gaussian(q_z.mean.unsqueeze(-2), q_z.scale.unsqueeze(-2))  # (T, N, 1, K)
        divergence = mixture_kl(form, q, components, weights, noise).squeeze(-1)  # (T, N)
        if self._some_alone:
            alone = ~self.attention.support[context.batch.index].any(-1)
            divergence = torch.where(alone, standard_normal_kl(q_z), divergence)
        return context.batch.mean(divergence)

    def _weights(self, beta: Tensor, index: Tensor) -> Tensor:
        """beta of the other tasks for every row of ``index`` (T, N), restricted to those with its class."""
        weights = beta.gather(1, self._others)[:, None]  # (T, 1, T-1)
        if not self._full_support:
            support = self.attention.support[index].gather(-1, self._others[:, None].expand(*index.shape, -1))
            weights = renormalise(weights, support)
        return weights.expand(*index.shape, -1).unsqueeze(-2)

    def _components(self, encoder: Encoder, rows: Tensor, place: Tensor) -> Gaussian:
        """q(z | f(x_n, D_i)) of the training rows ``rows`` and every other task, put where ``place`` says.

        The first affine layer is applied to the pool, before the attention average.
        """
        pool = self.rows.x
        if encoder.commutes:
            pool = encoder.first(pool[None]).squeeze(0)  # (n, F)
        mixed = self.attention.mix(pool, rows, self._others[self.rows.task[rows]])  # (U, T-1, F)
        posterior = encoder.posterior(mixed)
        assert isinstance(posterior, Gaussian)
        return Gaussian(posterior.mean[place], posterior.scale[place])

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
