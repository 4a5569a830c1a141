"""What the two mixture priors of w (Eq. 6) share: which tasks may help with a class, and the prior if none can.

p(w_tc) = sum_{i != t} alpha_tic N(mean_tic, variance_tic)

where
    alpha_tic = alpha_ti, kept for the tasks i that saw class c and scaled to sum to 1, (C, T, T)
    mean_tic, variance_tic = ``components``, (C, T or 1, T, K): axis 1 has length 1 where all tasks draw from the same

Where we depart from the paper: the mixture is per class, restricted to the tasks that saw it, since real tasks miss
classes. A class that no other task saw has the prior N(0, I).
"""

from __future__ import annotations

import torch
from torch import Tensor

from vmtl._utils.noise import Noise
from vmtl.paper.distributions import Gaussian, Posterior, standard_normal_kl
from vmtl.paper.mixing import renormalise
from vmtl.paper.priors.base import Context, PriorSettings, WPrior
from vmtl.paper.priors.mixture_kl import mixture_kl
from vmtl.results.relatedness import TaskStructure


class MixtureW(WPrior):
    """A prior of w mixed from the other tasks' posteriors; subclasses say what a component is."""

    posteriors = ("gaussian",)
    exact = "mixture"
    mixes = True
    seen: Tensor
    sharing: Tensor
    variance: Tensor

    def __init__(self, settings: PriorSettings, class_mask: Tensor, size: int, strength: float) -> None:
        super().__init__(settings, class_mask, size)
        self.settings = settings
        n_tasks = len(class_mask)
        self.register_buffer("seen", class_mask.clone(), persistent=False)  # (T, C)
        others = class_mask.sum(0) - class_mask.long()  # (T, C) how many others saw the class
        self._some_alone = not bool((others > 0).all())
        self.register_buffer("sharing", torch.full((n_tasks,), strength))  # (T,) r
        self.register_buffer("variance", torch.full((n_tasks,), 1 - strength**2))  # (T,) v

    @property
    def support(self) -> Tensor:
        """(C, T, T) whether task t may learn a class from task i."""
        others = ~torch.eye(len(self.seen), dtype=torch.bool, device=self.seen.device)
        return self.seen.T[:, None] & others

    def components(self, q_w: Gaussian) -> Gaussian:
        """What each task may draw its prior from: (C, T or 1, T, K)."""
        raise NotImplementedError

    def start_from(self, structure: TaskStructure) -> None:
        """Take over what was inferred about sharing before training; a strength given by hand stays."""

    def penalty(self, q_w: Posterior, context: Context) -> Tensor:
        """KL(q(w_t) || p(w_t)) of every task, summed over classes: (T,)."""
        assert isinstance(q_w, Gaussian)
        q = Gaussian(q_w.mean.transpose(0, 1), q_w.scale.transpose(0, 1))  # (C, T, K)
        weights = renormalise(context.alpha, self.support)  # (C, T, T)
        divergence = self._divergence(q, q_w, weights, context.noise)
        if self._some_alone:
            alone = ~self.support.any(-1)
            divergence = torch.where(alone, standard_normal_kl(q), divergence)
        return divergence.sum(0)

    def marginal(self, q_w: Posterior, alpha: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of the mixture, or of N(0, I) where nobody saw the class: (T, C, K) each."""
        assert isinstance(q_w, Gaussian)
        weights = renormalise(alpha, self.support).unsqueeze(-2)  # (C, T, 1, T)
        components = self.components(q_w)
        mean = (weights @ components.mean).squeeze(-2)  # (C, T, K)
        second = (weights @ (components.variance + components.mean.square())).squeeze(-2)
        alone = ~self.support.any(-1, keepdim=True)
        variance = torch.where(alone, 1.0, second - mean.square())
        return mean.transpose(0, 1), variance.transpose(0, 1)

    def _source(self, q_w: Gaussian) -> Gaussian:
        """The posteriors that components are made of: a snapshot, unless gradients pass through the prior."""
        return q_w.detach() if self.settings.gradient_w == "detached" else q_w

    def _divergence(self, q: Gaussian, q_w: Gaussian, weights: Tensor, noise: Noise) -> Tensor:
        """KL of every class and task to its mixture, in the form of the settings: (C, T)."""
        form, components = self.settings.kl_form, self.components(q_w)
        draws = None
        if form == "monte-carlo":
            n_classes, n_tasks, size = q.mean.shape
            draws = noise.normal(self.settings.draws, n_tasks, n_classes, size).transpose(1, 2)  # (S, C, T, K)
        if components.mean.shape[1] == 1:  # the same components for every task
            shared = Gaussian(components.mean[:, 0], components.scale[:, 0])  # (C, T, K)
            return mixture_kl(form, q, shared, weights, draws)
        single = Gaussian(q.mean.unsqueeze(-2), q.scale.unsqueeze(-2))  # (C, T, 1, K)
        draws = None if draws is None else draws.unsqueeze(-2)
        return mixture_kl(form, single, components, weights.unsqueeze(-2), draws).squeeze(-1)
