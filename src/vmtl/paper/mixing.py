"""Mixing weights alpha and beta: who learns from whom (Eq. 7).

alpha_ti = exp((log pi_ti + g_ti) / tau) / sum_{j != t} exp((log pi_tj + g_tj) / tau),   g = -log(-log u)

where
    log pi = ``log_pi`` (T, T), learned; the diagonal is never used
    g = ``Noise.gumbel`` (T, T), u uniform on (0, 1)
    tau = ``tau``, a number that a schedule lowers
    alpha = what ``sample`` returns, (T, T); beta likewise

Where we depart from the paper: one draw has nearly all its weight on few tasks, so the mean of ceil(T / 8) draws is
taken; log pi may start at weights that were inferred from the rows (``start_from``) instead of at uniform ones; a
fitted model reports softmax(log pi).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn

from vmtl.paper.choices import MixingMode
from vmtl.paper.parameter_groups import ParameterGroups
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
    """Learned mixing weights of T tasks.

    ``mode`` says how: ``gumbel`` as in Eq. 7, ``learnable`` without noise, ``mean`` uniform. With fewer than three
    tasks there is nothing to learn, with thousands too much: no parameter exists, weights are even. ``start`` is where
    log pi begins.
    """

    parameter_groups: ClassVar[ParameterGroups] = {"log_pi": "mixing"}
    start: Tensor
    log_pi: nn.Parameter | None

    def __init__(self, n_tasks: int, mode: MixingMode) -> None:
        super().__init__()
        self.mode = mode
        self.n_tasks = n_tasks
        table = n_tasks if n_tasks <= MAX_TASKS else 0
        self.register_buffer("start", torch.zeros(table, table))
        learned = mode != "mean" and 3 <= n_tasks <= MAX_TASKS
        self.log_pi = nn.Parameter(torch.zeros(n_tasks, n_tasks)) if learned else None

    @property
    def off_diagonal(self) -> Tensor:
        """(T, T) whether a pair is two tasks."""
        return ~torch.eye(self.n_tasks, dtype=torch.bool, device=self.start.device)

    @torch.no_grad()
    def start_from(self, alpha: Tensor) -> None:
        """Begin at the mixing weights ``alpha`` (T, T); they are also the prior of ``divergence``."""
        if self.log_pi is not None:
            self.start.copy_(torch.where(self.off_diagonal, alpha.clamp_min(1e-12).log(), 0.0))
            self.log_pi.copy_(self.start)

    def probabilities(self) -> Tensor:
        """softmax(log pi) off the diagonal: what a fitted model reports as alpha_ or beta_."""
        return mixing_weights(self._logits(), 1.0, self.off_diagonal)  # (T, T)

    def sample(self, tau: float, gumbel: Callable[..., Tensor]) -> Tensor:
        """The mixing weights at temperature ``tau``; without noise unless the mode is gumbel.

        A draw has nearly all its weight on few tasks, so the mean of ceil(T / 8) draws is taken; the convex bound is
        linear in the weights and stays unbiased.
        """
        if self.log_pi is None or self.mode != "gumbel":
            return self.probabilities()
        draws = -(-len(self.log_pi) // 8)
        noisy = self.log_pi + gumbel(draws, *self.log_pi.shape)
        return mixing_weights(noisy, tau, self.off_diagonal).mean(0)  # (T, T)

    def divergence(self) -> Tensor:
        """KL(softmax(log pi) || softmax(start)) of every task: (T,)."""
        alpha = self.probabilities()
        prior = mixing_weights(self.start, 1.0, self.off_diagonal)
        tiny = torch.finfo(alpha.dtype).tiny
        return (alpha * (alpha.clamp_min(tiny).log() - prior.clamp_min(tiny).log())).sum(-1)

    def _logits(self) -> Tensor:
        if self.n_tasks > MAX_TASKS:
            return self.start.new_zeros(self.n_tasks, self.n_tasks)
        return self.start if self.log_pi is None else self.log_pi
