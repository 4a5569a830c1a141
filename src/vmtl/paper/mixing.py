"""Mixing weights alpha and beta: who learns from whom (Eq. 7).

alpha_ti = exp((log pi_ti + g_ti) / tau) / sum_{j != t} exp((log pi_tj + g_tj) / tau),   g = -log(-log u)

where
    log pi = ``log_pi`` (T, T), learned, 0 at first as in the authors' code; the diagonal is never used
    g = ``Noise.gumbel`` (T, T), u uniform on (0, 1): one draw for each training step
    tau = ``tau``, a number that a schedule lowers
    alpha = what ``sample`` returns, (T, T); beta likewise

A fitted model reports softmax(log pi).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from vmtl.paper.choices import MixingMode
from vmtl.results.relatedness import MAX_TASKS


def mixing_weights(logits: Tensor, tau: float, mask: Tensor) -> Tensor:
    """softmax(logits / tau) over the last axis, restricted to ``mask``; rows with an empty mask are 0."""
    if not tau > 0:
        raise ValueError(f"The temperature tau must be positive; got {tau}.")
    masked = (logits / tau).masked_fill(~mask, -torch.inf)
    top = masked.amax(-1, keepdim=True).detach()
    weights = torch.where(mask, torch.exp(masked - torch.where(top.isfinite(), top, 0.0)), 0.0)
    return weights / weights.sum(-1, keepdim=True).clamp_min(torch.finfo(weights.dtype).tiny)


def renormalise(weights: Tensor, mask: Tensor) -> Tensor:
    """Mixing weights kept where ``mask`` holds and scaled to sum to 1 again; 0 where nothing is left."""
    kept = torch.where(mask, weights, 0.0)
    return kept / kept.sum(-1, keepdim=True).clamp_min(torch.finfo(weights.dtype).tiny)


class Mixing(nn.Module):
    """Mixing weights of T tasks, even at first.

    ``mode`` says how they are learned: ``gumbel`` as in Eq. 7, ``learnable`` without noise, ``mean`` not at all. With
    fewer than three tasks there is nothing to learn, with thousands too much: then no parameter exists.
    """

    log_pi: Tensor

    def __init__(self, n_tasks: int, mode: MixingMode) -> None:
        super().__init__()
        even = torch.zeros(n_tasks, n_tasks)
        self.is_learned = mode != "mean" and 3 <= n_tasks <= MAX_TASKS
        self.is_sampled = self.is_learned and mode == "gumbel"
        if self.is_learned:
            self.log_pi = nn.Parameter(even)
        else:
            self.register_buffer("log_pi", even, persistent=False)

    @property
    def off_diagonal(self) -> Tensor:
        """(T, T) whether a pair is two tasks."""
        return ~torch.eye(len(self.log_pi), dtype=torch.bool, device=self.log_pi.device)

    def probabilities(self) -> Tensor:
        """softmax(log pi) off the diagonal: what a fitted model reports as alpha_ or beta_."""
        return mixing_weights(self.log_pi, 1.0, self.off_diagonal)  # (T, T)

    def sample(self, tau: float, gumbel: Callable[..., Tensor]) -> Tensor:
        """One draw of the mixing weights at temperature ``tau``; the probabilities unless the mode is gumbel."""
        if not self.is_sampled:
            return self.probabilities()
        return mixing_weights(self.log_pi + gumbel(*self.log_pi.shape), tau, self.off_diagonal)  # (T, T)
