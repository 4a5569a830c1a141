"""The modules that a method names, put together (Eq. 2).

p(Y_t, Z_t, w_t | X_t, others) = prod_n p(y_tn | z_tn, w_t) p(z_tn | x_tn, others) p(w_t | others)

where
    p(y | z, w) = ``likelihood``
    p(w | others) = ``prior_w``, with alpha from ``mixing_w``
    p(z | x, others) = the prior of z, with beta from ``mixing_z``: it needs the training rows, so it belongs to
        ``vmtl.paper.objective.Objective``; a model predicts without it
    q(z | x), q(w) = ``encoder``, ``head``
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vmtl._utils.noise import Noise
from vmtl.data.rows import Rows
from vmtl.paper.distributions import Delta, Gaussian, Posterior
from vmtl.paper.encoders import Encoder, FixedEncoder, GroupedLinear, LinearEncoder, MlpEncoder
from vmtl.paper.heads import AmortisedHead, DirectHead, Head, NoisyAmortisedHead, class_statistics
from vmtl.paper.likelihoods import Categorical, GaussianNoise, Likelihood
from vmtl.paper.method import Method
from vmtl.paper.mixing import Mixing
from vmtl.paper.noisy_encoders import NoisyLinearEncoder, NoisyMlpEncoder
from vmtl.paper.priors import WPrior, make_w_prior
from vmtl.paper.settings import Settings
from vmtl.paper.task_weighting import WEIGHTINGS


@dataclass(frozen=True)
class Layout:
    """The shapes and masks of a problem, without rows: what a model needs to be built."""

    class_mask: Tensor  # (T, C)
    task_rows: Tensor  # (T,) N_t
    size_in: int  # D, the number of columns
    is_classification: bool
    statistics: Tensor  # (T, C, D), the inputs of an amortised head

    @classmethod
    def of(cls, rows: Rows, *, amortised: bool = True) -> Layout:
        """The layout of these training rows; without ``amortised`` no head reads statistics of them."""
        return cls(
            rows.class_mask,
            rows.task_weight,
            rows.x.shape[1],
            rows.is_classification,
            class_statistics(rows) if amortised else rows.x.new_zeros(1, 1, 1),
        )

    def to(self, device: str) -> Layout:
        """The same shapes on another device; on ``meta`` they have no memory. The small class mask stays."""
        moved = {name: getattr(self, name).to(device) for name in ("task_rows", "statistics")}
        return replace(self, **moved)


def effective_method(method: Method, settings: Settings) -> Method:
    """The method with z or w made deterministic, and so without a prior, where the settings say so."""
    if not settings.bayesian_z and method.q_z == "gaussian":
        method = replace(method, q_z="delta", prior_z=None)
    if not settings.bayesian_w and method.q_w == "gaussian":
        method = replace(method, q_w="delta", prior_w=None)
    return method


class Model(nn.Module):
    """A method on a problem of T tasks and C outputs: all that predicts, and all that is trained but the prior of z.

    Parameters
    ----------
    method : Method
        Which parts there are.
    settings : Settings
        Their sizes and options.
    layout : Layout
        The problem's shapes; no rows. The weights start at 0 until ``reset`` or ``load_state_dict``.
    """

    class_mask: Tensor
    task_rows: Tensor

    def __init__(self, method: Method, settings: Settings, layout: Layout) -> None:
        super().__init__()
        self.method, self.settings = effective_method(method, settings), settings
        self.is_classification, self.size_in = layout.is_classification, layout.size_in
        self.n_tasks = len(layout.class_mask)
        self.register_buffer("class_mask", layout.class_mask)
        self.register_buffer("task_rows", layout.task_rows)
        self.encoder = self._build_encoder(layout)
        self.head = self._build_head(layout)
        self.prior_w: WPrior | None = None
        if self.method.prior_w is not None:
            self.prior_w = make_w_prior(self.method.prior_w, settings, layout.class_mask, self.size_w)
        self.tied = settings.tie_mixing and self.method.mixes_w and self.method.mixes_z
        self.mixing_w = Mixing(self.n_tasks, settings.mixing) if self.method.mixes_w else None
        self.mixing_z = Mixing(self.n_tasks, settings.mixing) if self.method.mixes_z and not self.tied else None
        self.likelihood: Likelihood = (
            Categorical(layout.class_mask)
            if layout.is_classification
            else GaussianNoise(self.n_tasks, self.method.shared_noise)
        )
        weighting = self.method.weighting if layout.is_classification else "equal"
        self.weighting = WEIGHTINGS[weighting](self.n_tasks)

    @property
    def size_w(self) -> int:
        """Weights of a class: one for each dimension of z, and the bias if there is one."""
        return self.encoder.latent_dim + int(self.settings.bias)

    def _build_encoder(self, layout: Layout) -> Encoder:
        settings, size_in = self.settings, layout.size_in
        groups = self.n_tasks if self.method.encoder == "per task" else 1
        stochastic = self.method.q_z == "gaussian"
        if self.method.encoder == "fixed":
            return FixedEncoder(size_in, settings.dropout)
        if settings.encoder == "noisy-linear" and stochastic:
            return NoisyLinearEncoder(groups, size_in, settings.latent_dim, settings.dropout)
        if settings.encoder == "noisy-mlp" and stochastic:
            return NoisyMlpEncoder(groups, size_in, settings.hidden_dim, settings.latent_dim, settings.dropout)
        if settings.encoder in ("mlp", "noisy-mlp"):
            return MlpEncoder(groups, size_in, settings.hidden_dim, settings.latent_dim, stochastic, settings.dropout)
        return LinearEncoder(groups, size_in, settings.latent_dim, stochastic, settings.dropout)

    def _build_head(self, layout: Layout) -> Head:
        settings, stochastic = self.settings, self.method.q_w == "gaussian"
        if self.method.head == "direct":
            shape = (*layout.class_mask.shape, self.size_w)
            return DirectHead(shape, settings, stochastic=stochastic, shared=self.method.shared_head)
        if settings.encoder == "noisy-mlp":
            return NoisyAmortisedHead(layout.statistics, self.encoder.latent_dim, settings, stochastic=stochastic)
        return AmortisedHead(layout.statistics, self.size_w, settings, stochastic=stochastic)

    def reset(self, generator: torch.Generator) -> None:
        """Initial weights from ``generator``, module by module."""
        for module in self.modules():
            if isinstance(module, GroupedLinear | DirectHead):
                module.reset(generator)

    def q_w(self, alpha: Tensor | None = None, noise: Noise | None = None) -> Posterior:
        """The classifiers of all tasks, with a last weight for a feature of value 1: (T, C, K + 1)."""
        return self.with_bias(self.weights(alpha, noise))

    def with_bias(self, weights: Posterior) -> Posterior:
        """The same classifiers with a bias, which is 0 if they have none."""
        if self.settings.bias:
            return weights
        mean = F.pad(weights.mean, (0, 1))
        return Gaussian(mean, F.pad(weights.scale, (0, 1))) if isinstance(weights, Gaussian) else Delta(mean)

    def weights(self, alpha: Tensor | None = None, noise: Noise | None = None) -> Posterior:
        """The weights that have a prior: (T, C, K or K + 1).

        For a class that a task never saw, an amortised head has no input: its weights are distributed as their prior.
        """
        q_w: Posterior = self.head(noise)
        if not self.head.amortised or bool(self.class_mask.all()):
            return q_w
        alpha = self.alpha() if alpha is None else alpha
        mean, variance = (
            self.prior_w.marginal(q_w, alpha)
            if self.prior_w is not None
            else (torch.zeros_like(q_w.mean), torch.ones_like(q_w.mean))
        )
        seen = self.class_mask[..., None]
        mean = torch.where(seen, q_w.mean, mean)
        if isinstance(q_w, Delta):
            return Delta(mean)
        return Gaussian(mean, torch.where(seen, q_w.scale, variance.clamp_min(1e-12).sqrt()))

    def alpha(self) -> Tensor:
        """Reported mixing weights of w: (T, T), zeros if the method has none."""
        return self._reported(self.mixing_w)

    def beta(self) -> Tensor:
        """Reported mixing weights of z: (T, T), zeros if the method has none."""
        return self._reported(self.mixing_w if self.tied else self.mixing_z)

    def draw_mixing(self, tau: float, noise: Noise) -> tuple[Tensor, Tensor]:
        """alpha and beta of one training step at temperature ``tau``: (T, T) each."""
        alpha = self.alpha() if self.mixing_w is None else self.mixing_w.sample(tau, noise.gumbel)
        if self.tied:
            return alpha, alpha
        return alpha, self.beta() if self.mixing_z is None else self.mixing_z.sample(tau, noise.gumbel)

    def sharing(self) -> Tensor:
        """Sharing strength of every task: (T,), zeros if w has no mixture prior."""
        return torch.full_like(self.task_rows, self.settings.sharing if self.method.mixes_w else 0.0)

    def _reported(self, mixing: Mixing | None) -> Tensor:
        if mixing is None:
            return self.task_rows.new_zeros(self.n_tasks, self.n_tasks)
        return mixing.probabilities()
