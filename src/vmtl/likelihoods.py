"""Likelihoods: logits and targets to the negative log likelihood of every row."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from vmtl.distributions import Gaussian
from vmtl.fused import moment_loss, sampled_loss
from vmtl.heads import Moments
from vmtl.noise import Noise


def log_softmax_(logits: Tensor) -> Tensor:
    """log softmax over the last axis, in place; torch's own kernel is slow on rows shorter than a vector."""
    if logits.shape[-1] >= 16:
        return torch.log_softmax(logits, -1, out=logits)
    logits.sub_(logits.amax(-1, keepdim=True))
    return logits.sub_(logits.exp().sum(-1, keepdim=True).log_())


class Categorical(nn.Module):
    """Cross-entropy over the classes that each task saw (all classes if ``all_classes``)."""

    visible: Tensor

    def __init__(self, class_mask: Tensor, all_classes: bool = False) -> None:
        super().__init__()
        visible = torch.ones_like(class_mask) if all_classes else class_mask
        self.register_buffer("visible", visible[:, None], persistent=False)  # (T, 1, C)
        self.all_visible = bool(visible.all())

    def penalty(self) -> Tensor | float:
        """A softmax has no parameters of its own."""
        return 0.0

    def nll(self, logits: Tensor, y: Tensor) -> Tensor:
        """(S, T, N, C) and (T, N) to (T, N): the mean over draws of -log p(y | draw)."""
        if not self.all_visible:
            logits = logits.masked_fill(~self.visible, torch.finfo(logits.dtype).min)
        target = logits.gather(-1, y.expand(logits.shape[:-1]).unsqueeze(-1)).squeeze(-1)
        return (logits.logsumexp(-1) - target).mean(0)

    def nll_sampled(self, q_z: Gaussian, q_w: Gaussian, y: Tensor, noise: Noise, n_z: int, n_w: int) -> Tensor:
        """The same on the draws of ``sample_logits``."""
        hidden = Gaussian(self._hide(q_w.mean), q_w.scale)
        return sampled_loss(q_z, hidden, y, noise, n_z, n_w, self)

    def nll_moments(self, moments: Moments, y: Tensor, noise: Noise, draws: int) -> Tensor:
        """The same on draws of logits that have the given moments."""
        mean = moments.mean
        if not self.all_visible:
            mean = mean.masked_fill(~self.visible, torch.finfo(mean.dtype).min / 4)
        return moment_loss(mean, moments.variance, y, noise, draws, self)

    def _hide(self, mean: Tensor) -> Tensor:
        """Weights (T, C, K+1) whose biases give the classes that a task did not see the probability 0."""
        if self.all_visible:
            return mean
        bias = mean[..., -1].masked_fill(~self.visible[:, 0], torch.finfo(mean.dtype).min / 4)
        return torch.cat([mean[..., :-1], bias.unsqueeze(-1)], -1)

    def value_and_gradient(self, logits: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """sum over draws of -log p(y), and p - 1[y] for every draw."""
        log_p = log_softmax_(logits)
        target = y.expand(logits.shape[:-1]).unsqueeze(-1)
        value = log_p.gather(-1, target).squeeze(-1).sum(0).neg_()
        return value, log_p.exp_().scatter_add_(-1, target, log_p.new_full((), -1.0).expand(target.shape))


class GaussianNoise(nn.Module):
    """y ~ N(f, sigma_t^2), the noise learned per task, or one for all tasks if ``shared``.

    log sigma_t = common + own_t with own_t ~ N(0, 0.25^2), so that a task of few rows keeps to the others' noise.

    With noise per task, Kendall's homoscedastic weighting of regression losses,
    sum_t |y - f|^2 / (2 sigma_t^2) + log sigma_t, is this likelihood; with shared noise all tasks weigh alike.
    """

    floor = 1e-3

    def __init__(self, n_tasks: int, shared: bool) -> None:
        super().__init__()
        self.n_tasks = n_tasks
        self.log_noise = nn.Parameter(torch.full((1,), math.log(0.5)))
        self.log_own = None if shared else nn.Parameter(torch.zeros(n_tasks))

    def scale(self) -> Tensor:
        """sigma of every task in units of the standardised target: (T,)."""
        log_noise = self.log_noise.expand(self.n_tasks) if self.log_own is None else self.log_noise + self.log_own
        return log_noise.exp() + self.floor

    def penalty(self) -> Tensor | float:
        """-log density of own_t, up to a constant: (T,) nats."""
        return 0.0 if self.log_own is None else 0.5 * (self.log_own / 0.25).square()

    def nll(self, prediction: Tensor, y: Tensor) -> Tensor:
        """(S, T, N, 1) and (T, N) to (T, N)."""
        return self._nll((prediction.squeeze(-1) - y).square().mean(0))

    def nll_sampled(self, q_z: Gaussian, q_w: Gaussian, y: Tensor, noise: Noise, n_z: int, n_w: int) -> Tensor:
        """The same on the draws of ``sample_logits``."""
        return self._nll(sampled_loss(q_z, q_w, y, noise, n_z, n_w, self))

    def value_and_gradient(self, logits: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """sum over draws of (f - y)^2, and 2 (f - y) for every draw."""
        error = logits - y.unsqueeze(-1)
        return error.square().sum(0).squeeze(-1), error.mul_(2)

    def nll_moments(self, moments: Moments, y: Tensor, noise: Noise, draws: int) -> Tensor:
        """In closed form: E (y - f)^2 = (y - mean)^2 + variance."""
        return self._nll((moments.mean.squeeze(-1) - y).square() + moments.variance.squeeze(-1))

    def _nll(self, square: Tensor) -> Tensor:
        variance = self.scale().square()[:, None]
        return 0.5 * (square / variance + variance.log() + math.log(2 * math.pi))


Likelihood = Categorical | GaussianNoise
