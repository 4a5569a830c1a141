"""The paper's prior of w (Eq. 6): a mixture of the other tasks' posteriors.

p(w_tc) = sum_{i != t} alpha_tic N(r mu_ic, r^2 sigma_ic^2 + 1 - r^2)

where
    mu_ic, sigma_ic = ``q_w.mean``, ``q_w.scale`` of task i and class c, (T, C, K); of the step before if ``detached``
    alpha_tic = ``context.alpha`` (T, T), kept for the tasks i that saw class c and scaled to sum to 1, (C, T, T)
    r = ``settings.sharing``, a number from 0 to 1

Where we depart from the paper: it has r = 1. Then what one task learned comes back to it through the others, is counted
again and again, and variances fall; a strength below 1 discounts it each time, and r = 0 is N(0, I). The mixture is per
class, restricted to the tasks that saw it, since real tasks miss classes; a class that no other task saw has the prior
N(0, I).
"""

from __future__ import annotations

import torch
from torch import Tensor

from vmtl._utils.noise import Noise
from vmtl.paper.distributions import Gaussian, Posterior, standard_normal_kl
from vmtl.paper.mixing import renormalise
from vmtl.paper.priors.base import Context, WPrior
from vmtl.paper.priors.mixture_kl import mixture_kl
from vmtl.paper.settings import Settings


class GumbelMixtureW(WPrior):
    """p(w_tc) = sum_{i != t} alpha_tic N(r mu_ic, r^2 sigma_ic^2 + 1 - r^2)."""

    posteriors = ("gaussian",)
    mixes = True
    seen: Tensor

    def __init__(self, settings: Settings, class_mask: Tensor, size: int) -> None:
        super().__init__(settings, class_mask, size)
        self.settings = settings
        self.register_buffer("seen", class_mask.clone(), persistent=False)  # (T, C)
        n_others = class_mask.sum(0) - class_mask.long()  # (T, C) how many other tasks saw the class
        self._some_alone = not bool((n_others > 0).all())
        self._same_for_all_classes = bool(class_mask.all()) and not self._some_alone

    @property
    def support(self) -> Tensor:
        """(C, T, T) whether task t may learn a class from task i."""
        others = ~torch.eye(len(self.seen), dtype=torch.bool, device=self.seen.device)
        return self.seen.T[:, None] & others

    def components(self, q_w: Gaussian) -> Gaussian:
        """N(r mu_ic, r^2 sigma_ic^2 + 1 - r^2) of every class and task: (C, T, K)."""
        source = q_w.detach() if self.settings.prior_gradient_w == "detached" else q_w
        mean, variance = source.mean.transpose(0, 1), source.variance.transpose(0, 1)
        if self.settings.bias_slip:  # the mean of a bias is overwritten by its variance, which stays 1
            mean = torch.cat([mean[..., :-1], variance[..., -1:]], -1)
            variance = torch.cat([variance[..., :-1], torch.ones_like(variance[..., -1:])], -1)
        r = self.settings.sharing
        return Gaussian(r * mean, (r**2 * variance + (1 - r**2)).sqrt())

    def penalty(self, q_w: Posterior, context: Context) -> Tensor:
        """KL(q(w_t) || p(w_t)) of every task, summed over classes: (T,)."""
        assert isinstance(q_w, Gaussian)
        if self._same_for_all_classes and self.settings.kl_form == "bound":
            return self._bound_of_all_classes(q_w, context.alpha)
        q = Gaussian(q_w.mean.transpose(0, 1), q_w.scale.transpose(0, 1))  # (C, T, K)
        weights = renormalise(context.alpha, self.support)  # (C, T, T)
        draws = self._draws(q, context.noise)
        divergence = mixture_kl(self.settings.kl_form, q, self.components(q_w), weights, draws)  # (C, T)
        if self._some_alone:
            alone = ~self.support.any(-1)
            divergence = torch.where(alone, standard_normal_kl(q), divergence)
        return divergence.sum(0)

    def marginal(self, q_w: Posterior, alpha: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of the mixture, or of N(0, I) where no other task saw the class: (T, C, K) each."""
        assert isinstance(q_w, Gaussian)
        weights = renormalise(alpha, self.support)  # (C, T, T)
        components = self.components(q_w)
        mean = weights @ components.mean  # (C, T, K)
        second = weights @ (components.variance + components.mean.square())
        alone = ~self.support.any(-1, keepdim=True)
        variance = torch.where(alone, 1.0, second - mean.square())
        return mean.transpose(0, 1), variance.transpose(0, 1)

    def _draws(self, q: Gaussian, noise: Noise) -> Tensor | None:
        """Standard normal numbers for the monte-carlo form: (L M, C, T, K)."""
        if self.settings.kl_form != "monte-carlo":
            return None
        n_classes, n_tasks, size = q.mean.shape
        return noise.normal(self.settings.n_z * self.settings.n_w, n_tasks, n_classes, size).transpose(1, 2)

    def _bound_of_all_classes(self, q_w: Gaussian, alpha: Tensor) -> Tensor:
        """Where every task saw every class, alpha is the same for all: one mixture over (T, C * K)."""
        components = self.components(q_w)  # (C, T, K)
        mean, scale = (value.transpose(0, 1).flatten(1) for value in (components.mean, components.scale))
        q = Gaussian(q_w.mean.flatten(1), q_w.scale.flatten(1))
        return mixture_kl("bound", q, Gaussian(mean, scale), alpha)
