"""The default's prior of w (after Eq. 6): the same mixture, with a sharing strength inferred for every task.

p(w_tc) = sum_{i != t} alpha_tic N(r_t mu_ic, v_t)

where
    mu_ic = ``q_w.mean`` of task i and class c, (T, C, K); of the step before if ``detached``
    alpha_tic = ``context.alpha`` (T, T), per class as in ``mixture_w``
    r_t, v_t = ``sharing``, ``variance`` (T,), set once by ``start_from``

Where we depart from the paper: N(r_t mu, v_t) is the law of w_t given that the others' weights are mu, in the Gaussian
model of ``vmtl.inference.structure``. With a Gaussian likelihood the means of q(w) are then those of the exact joint
posterior.
"""

from __future__ import annotations

import torch
from torch import Tensor

from vmtl._utils.noise import Noise
from vmtl.model.distributions import Gaussian
from vmtl.model.priors.base import PriorSettings
from vmtl.model.priors.mixture_w import MixtureW
from vmtl.results.relatedness import TaskStructure


class ConditionalMixtureW(MixtureW):
    """p(w_tc) = sum_{i != t} alpha_tic N(r_t mu_ic, v_t), r_t and v_t inferred before training."""

    def __init__(self, settings: PriorSettings, class_mask: Tensor, size: int) -> None:
        super().__init__(settings, class_mask, size, strength=0.0)

    @torch.no_grad()
    def start_from(self, structure: TaskStructure) -> None:
        """Set r_t and v_t; until then r_t = 0 and v_t = 1, the prior N(0, I)."""
        self.sharing.copy_(structure.sharing)
        self.variance.copy_(structure.variance)

    def components(self, q_w: Gaussian) -> Gaussian:
        """N(r_t mu_i, v_t) for every pair of tasks: (C, T, T, K)."""
        mean = self._source(q_w).mean.transpose(0, 1)[:, None]  # (C, 1, T, K)
        shrunk = self.sharing[:, None, None] * mean
        return Gaussian(shrunk, self.variance.sqrt()[:, None, None].expand_as(shrunk))

    def _divergence(self, q: Gaussian, q_w: Gaussian, weights: Tensor, noise: Noise) -> Tensor:
        if self.settings.kl_form == "bound":
            return self._bound(q, weights)
        return super()._divergence(q, q_w, weights, noise)

    def _bound(self, q: Gaussian, weights: Tensor) -> Tensor:
        """sum_i alpha_ti KL(q_t || N(r_t mu_i, v_t)) from two matrix products, no (T, T, K) tensor: (C, T).

        1/2 [ (sum s^2 + m^2 - 2 r m <mu> + r^2 <mu^2>) / v + K log v - sum log s^2 - K ], <.> the mean over alpha.
        """
        source = self._source(q).mean
        r, v, size = self.sharing, self.variance, q.mean.shape[-1]
        cross = (q.mean * (weights @ source)).sum(-1)  # (C, T)
        square = (weights @ source.square().sum(-1, keepdim=True)).squeeze(-1)
        second_moment = (q.variance + q.mean.square()).sum(-1)
        quadratic = (second_moment - 2 * r * cross + r.square() * square) / v
        return 0.5 * (quadratic + size * (v.log() - 1) - 2 * q.scale.log().sum(-1))
