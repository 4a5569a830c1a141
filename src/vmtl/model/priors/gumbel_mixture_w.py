"""The paper's prior of w (Eq. 6): a mixture of the other tasks' posteriors, at a sharing strength given by hand.

p(w_tc) = sum_{i != t} alpha_tic N(r mu_ic, r^2 sigma_ic^2 + 1 - r^2)

where
    mu_ic, sigma_ic = ``q_w.mean``, ``q_w.scale`` of task i and class c, (T, C, K); of the step before if ``detached``
    alpha_tic = ``context.alpha`` (T, T), per class as in ``mixture_w``
    r = ``settings.sharing``, a number from 0 to 1

Where we depart from the paper: it has r = 1. Then what one task learned comes back to it through the others, is counted
again and again, and variances fall to 0; a strength below 1 discounts it each time, and r = 0 is N(0, I). Where r is
not given, it is inferred: ``conditional_mixture_w``.
"""

from __future__ import annotations

import torch
from torch import Tensor

from vmtl.model.distributions import Gaussian, Posterior
from vmtl.model.priors.base import Context, PriorSettings
from vmtl.model.priors.mixture_kl.forms import mixture_kl
from vmtl.model.priors.mixture_w import MixtureW


class GumbelMixtureW(MixtureW):
    """p(w_tc) = sum_{i != t} alpha_tic N(r mu_ic, r^2 sigma_ic^2 + 1 - r^2), r given."""

    def __init__(self, settings: PriorSettings, class_mask: Tensor, size: int) -> None:
        if settings.sharing is None:
            raise ValueError("This prior needs a sharing strength; give one between 0 and 1.")
        super().__init__(settings, class_mask, size, settings.sharing)
        self._strength = settings.sharing
        self._every_class_shared = bool(class_mask.all()) and not self._some_alone

    def components(self, q_w: Gaussian) -> Gaussian:
        """The shrunk posteriors of all tasks, the same for each of them: (C, 1, T, K)."""
        source, r = self._source(q_w), self._strength
        mean, variance = source.mean.transpose(0, 1)[:, None], source.variance.transpose(0, 1)[:, None]
        if self.settings.bias_slip:  # the mean of a bias is overwritten by its variance, which stays 1
            mean = torch.cat([mean[..., :-1], variance[..., -1:]], -1)
            variance = torch.cat([variance[..., :-1], torch.ones_like(variance[..., -1:])], -1)
        return Gaussian(r * mean, (r**2 * variance + (1 - r**2)).sqrt())

    def penalty(self, q_w: Posterior, context: Context) -> Tensor:
        """KL(q(w_t) || p(w_t)) of every task: (T,)."""
        if self._every_class_shared and self.settings.kl_form == "bound":
            assert isinstance(q_w, Gaussian)
            return self._bound_of_all_classes(q_w, context.alpha)
        return super().penalty(q_w, context)

    def _bound_of_all_classes(self, q_w: Gaussian, alpha: Tensor) -> Tensor:
        """Where every task saw every class, alpha is the same for all: one mixture over (T, C * K)."""
        shared = self.components(q_w)  # (C, 1, T, K)
        mean, scale = (value[:, 0].transpose(0, 1).flatten(1) for value in (shared.mean, shared.scale))
        q = Gaussian(q_w.mean.flatten(1), q_w.scale.flatten(1))
        return mixture_kl("bound", q, Gaussian(mean, scale), alpha)
