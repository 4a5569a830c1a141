"""The loss over draws of logits with given mean and standard deviation, and its gradients in both.

sum_m loss(mean + std e_m),   d_mean = sum_m g_m,   d_std = sum_m g_m e_m

where
    e_m = noise, antithetic: [eps, -eps], the first M = ``draws`` of them
    g_m = gradient of the loss in the logits of draw m, which the loss gives together with its value

``sampled_loss`` uses it for every draw of z; docs/expected-loss.md derives both.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

#: Numbers of one table that are worked on at once: few enough for the cache, enough to hide the overhead of a call.
LOGITS_AT_ONCE = 400_000


class Loss(Protocol):
    """A loss of every row, with its derivative."""

    def value_and_gradient(self, logits: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """(S, ..., N, C) and (..., N) to the sum over draws (..., N) and the gradient; ``logits`` may be reused."""


def task_chunks(n_tasks: int, numbers: int) -> list[slice]:
    """Tasks in pieces, each of about LOGITS_AT_ONCE numbers if one task has ``numbers`` of them."""
    step = max(1, LOGITS_AT_ONCE // max(1, numbers))
    return [slice(start, start + step) for start in range(0, n_tasks, step)]


def loss_over_draws(
    loss: Loss, mean: Tensor, std: Tensor, eps: Tensor, draws: int, y: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The sum over draws, d_mean and d_std: (T, P, N), and (T, P, N, C) twice.

    where ``mean``, ``std`` (T, P, N, C); ``eps`` (ceil(M / 2), T, 1, N, C), the same for all P; ``y`` (T, N). Many
    rows are worked on in pieces that fit the cache.
    """
    step = max(1, LOGITS_AT_ONCE // (draws * mean[..., 0, :].numel()))
    if step >= mean.shape[-2]:
        return _loss_of_piece(loss, mean, std, eps, draws, y)
    pieces = zip(mean.split(step, -2), std.split(step, -2), eps.split(step, -2), y.split(step, -1), strict=True)
    parts = [_loss_of_piece(loss, m, s, e, draws, target) for m, s, e, target in pieces]
    values, d_means, d_stds = zip(*parts, strict=True)
    return torch.cat(values, -1), torch.cat(d_means, -2), torch.cat(d_stds, -2)


def _loss_of_piece(
    loss: Loss, mean: Tensor, std: Tensor, eps: Tensor, draws: int, y: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    half, paired = len(eps), draws - len(eps)  # draws with the noise as it is, and with its sign turned
    logits = mean.new_empty(draws, *mean.shape)
    torch.addcmul(mean, std, eps, out=logits[:half])
    torch.addcmul(mean, std, eps[:paired], value=-1, out=logits[half:])
    value, gradient = loss.value_and_gradient(logits, y[:, None].expand(mean.shape[:-1]))
    d_mean = gradient.sum(0)
    odd_part = gradient[:half]
    odd_part[:paired] -= gradient[half:]
    return value, d_mean, odd_part.mul_(eps).sum(0)
