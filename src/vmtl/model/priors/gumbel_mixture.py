"""The paper's prior of w: a mixture of the other tasks' posteriors (Eq. 6)."""

from __future__ import annotations

import torch
from torch import Tensor

from vmtl._utils.noise import Noise
from vmtl.model.distributions import Gaussian, Posterior, standard_normal_kl
from vmtl.model.mixing import renormalise
from vmtl.model.priors.base import Context, PriorSettings, WPrior
from vmtl.model.priors.mixture_kl import mixture_kl


class GumbelMixtureW(WPrior):
    """p(w_tc) = sum_{i != t} alpha_tic N(r mu_ic, r^2 sigma_ic^2 + 1 - r^2).

    where mu_ic, sigma_ic = the posterior of task i, of the previous step if ``detached``; r = ``sharing``,
    1 in the paper, 0 gives N(0, I); alpha_tic = alpha_ti restricted to the tasks that saw class c. At r = 1
    evidence that goes round between tasks is counted again and again and variances fall to 0; a strength
    below 1 forgets a little at each hop. A class that no other task saw has the prior N(0, I).

    If ``sharing`` is not given it is inferred per task, and the components are N(r_t mu_ic, v_t), the law of w_t given
    the others in the exact Gaussian model (``vmtl.inference.exact.task_structure``): with a Gaussian likelihood the
    means of q(w) are then those of the exact joint posterior.
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
        self._unmasked = bool(class_mask.all()) and not self._some_alone
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
        if self._unmasked and self.settings.sharing is not None and self.settings.kl_form == "bound":
            return self._unmasked_bound(q_w, context.alpha)
        q = Gaussian(q_w.mean.transpose(0, 1), q_w.scale.transpose(0, 1))  # (C, T, K)
        weights = renormalise(context.alpha, self.support)  # (C, T, T)
        if self.settings.sharing is None and self.settings.kl_form == "bound":
            divergence = self._conditional_bound(q, weights)
        else:
            divergence = self._divergence(q, self.components(q_w), weights, context.noise)
        if self._some_alone:
            divergence = torch.where(~self.support.any(-1), standard_normal_kl(q), divergence)
        return divergence.sum(0)  # (T,)

    def _unmasked_bound(self, q_w: Gaussian, alpha: Tensor) -> Tensor:
        """Where every task saw every class, alpha is the same for all: one mixture over (T, C * K), (T,)."""
        shared = self.components(q_w)  # (C, 1, T, K)
        mean, scale = (value[:, 0].transpose(0, 1).flatten(1) for value in (shared.mean, shared.scale))
        q = Gaussian(q_w.mean.flatten(1), q_w.scale.flatten(1))
        return mixture_kl("bound", q, Gaussian(mean, scale), alpha)

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
