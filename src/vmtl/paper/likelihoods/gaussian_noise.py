"""Real targets: p(y | z, w) of Eq. 2 is a Gaussian around the output, with noise learned per task.

-log p(y | f) = (y - f)^2 / (2 sigma_t^2) + log sigma_t + log(2 pi) / 2

where
    f = the one output w . [z; 1], (S, T, N, 1)
    y = standardised targets (T, N)
    sigma_t = ``scale()`` (T,), log sigma_t = ``log_noise`` + ``log_own``_t

The paper does not say which likelihood its regressors have. Here log_own_t ~ N(0, 0.25^2), so that the noise of
a task with few rows stays near that of the others; with ``shared`` noise the loss is a plain sum of squared errors.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from vmtl._utils.noise import Noise
from vmtl.paper.distributions import Gaussian
from vmtl.paper.likelihoods.sampled_loss import sampled_loss

#: Prior standard deviation of a task's log noise around the common one.
OWN_NOISE_DEVIATION = 0.25


class GaussianNoise(nn.Module):
    """y ~ N(f, sigma_t^2), the noise learned per task, or one for all tasks if ``shared``.

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
        """-log density of log_own_t, up to a constant: (T,) nats."""
        return 0.0 if self.log_own is None else 0.5 * (self.log_own / OWN_NOISE_DEVIATION).square()

    def nll(self, prediction: Tensor, y: Tensor) -> Tensor:
        """(S, T, N, 1) and (T, N) to (T, N)."""
        return self._nll((prediction.squeeze(-1) - y).square().mean(0))

    def nll_sampled(self, q_z: Gaussian, q_w: Gaussian, y: Tensor, noise: Noise, n_z: int, n_w: int) -> Tensor:
        """The same on the draws of ``sample_logits``: (T, N)."""
        return self._nll(sampled_loss(q_z, q_w, y, noise, n_z, n_w, self))

    def value_and_gradient(self, logits: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """sum over draws of (f - y)^2, and 2 (f - y) for every draw."""
        error = logits - y.unsqueeze(-1)
        return error.square().sum(0).squeeze(-1), error.mul_(2)

    def _nll(self, squared_error: Tensor) -> Tensor:
        variance = self.scale().square()[:, None]
        return 0.5 * (squared_error / variance + variance.log() + math.log(2 * math.pi))
