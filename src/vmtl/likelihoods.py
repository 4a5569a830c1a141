"""Likelihoods: logits and targets to the negative log likelihood of every row."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from vmtl.heads import Moments
from vmtl.noise import Noise


class Categorical(nn.Module):
    """Cross-entropy over the classes that each task saw (all classes if ``all_classes``)."""

    visible: Tensor

    def __init__(self, class_mask: Tensor, all_classes: bool = False) -> None:
        super().__init__()
        visible = torch.ones_like(class_mask) if all_classes else class_mask
        self.register_buffer("visible", visible[:, None], persistent=False)  # (T, 1, C)

    def nll(self, logits: Tensor, y: Tensor) -> Tensor:
        """(S, T, N, C) and (T, N) to (T, N): the mean over draws of -log p(y | draw).

        Padding rows may carry a class that their task never saw; they stay finite, and weigh nothing later.
        """
        target = logits.gather(-1, y.expand(logits.shape[:-1]).unsqueeze(-1)).squeeze(-1)
        return (logits.masked_fill(~self.visible, -torch.inf).logsumexp(-1) - target).mean(0)

    def nll_moments(self, moments: Moments, y: Tensor, noise: Noise, draws: int) -> Tensor:
        """The same on draws of logits that have the given moments."""
        eps = noise.normal(draws, *moments.mean.shape)
        return self.nll(torch.addcmul(moments.mean, moments.variance.clamp_min(1e-12).sqrt(), eps), y)


class GaussianNoise(nn.Module):
    """y ~ N(f, sigma_t^2), the noise learned per task, or one for all tasks if ``shared``.

    With noise per task, Kendall's homoscedastic weighting of regression losses,
    sum_t |y - f|^2 / (2 sigma_t^2) + log sigma_t, is this likelihood; with shared noise all tasks weigh alike.
    """

    floor = 1e-3

    def __init__(self, n_tasks: int, shared: bool) -> None:
        super().__init__()
        self.n_tasks = n_tasks
        self.log_noise = nn.Parameter(torch.full((1 if shared else n_tasks, 1), math.log(0.5)))

    def scale(self) -> Tensor:
        """sigma of every task in units of the standardised target: (T,)."""
        return (self.log_noise.exp() + self.floor).expand(self.n_tasks, 1).squeeze(-1)

    def nll(self, prediction: Tensor, y: Tensor) -> Tensor:
        """(S, T, N, 1) and (T, N) to (T, N)."""
        return self._nll((prediction.squeeze(-1) - y).square().mean(0))

    def nll_moments(self, moments: Moments, y: Tensor, noise: Noise, draws: int) -> Tensor:
        """In closed form: E (y - f)^2 = (y - mean)^2 + variance."""
        return self._nll((moments.mean.squeeze(-1) - y).square() + moments.variance.squeeze(-1))

    def _nll(self, square: Tensor) -> Tensor:
        variance = self.scale().square()[:, None]
        return 0.5 * (square / variance + variance.log() + math.log(2 * math.pi))


Likelihood = Categorical | GaussianNoise
