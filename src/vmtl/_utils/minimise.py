"""Minima by gradients: L-BFGS and Adam, without torch's compiler, which its optimisers import for seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.optim import Optimizer


def minimise(
    unknown: Sequence[Tensor],
    loss: Callable[[], Tensor],
    *,
    iterations: int,
    history: int,
    least_slope: float,
    least_change: float,
) -> None:
    """L-BFGS with a line search by Wolfe's conditions: move ``unknown`` to the minimum of ``loss``, a function of it.

    ``history`` = steps that it remembers; it ends when no slope is above ``least_slope``, or when neither the unknowns
    nor the loss move by more than ``least_change``.
    """
    _spare_compiler()
    optimiser = torch.optim.LBFGS(
        list(unknown),
        max_iter=iterations,
        history_size=history,
        tolerance_grad=least_slope,
        tolerance_change=least_change,
        line_search_fn="strong_wolfe",
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        value = loss()
        value.backward()
        return value

    with torch.enable_grad():
        optimiser.step(closure)


def _spare_compiler() -> None:
    """Methods of an optimiser that the compiler must not touch are called as they are; else they would import it."""
    for method in vars(Optimizer).values():
        plain = getattr(method, "__wrapped__", None)
        if plain is not None and getattr(plain, "__dynamo_disable", None) is None:
            plain.__dynamo_disable = plain


class Adam:
    """Steps by the first two moments of the slopes (Kingma and Ba, 2015), as torch takes them.

    Parameters
    ----------
    unknown : sequence of Tensor
        What is moved; each has its slope as ``grad``.
    betas : pair of float
        How much of the moments before stays at every step.
    eps : float, default=1e-8
        The least deviation of a slope.
    """

    def __init__(self, unknown: Sequence[Tensor], betas: tuple[float, float], eps: float = 1e-8) -> None:
        self.unknown, self.betas, self.eps, self.steps = unknown, betas, eps, 0
        self.moments = [(torch.zeros_like(value), torch.zeros_like(value)) for value in unknown]

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """One step, after which the slopes are forgotten."""
        self.steps += 1
        seen, seen_squares = (1 - beta**self.steps for beta in self.betas)
        for value, (first, second) in zip(self.unknown, self.moments, strict=True):
            if value.grad is None:
                continue
            first.lerp_(value.grad, 1 - self.betas[0])
            second.mul_(self.betas[1]).addcmul_(value.grad, value.grad, value=1 - self.betas[1])
            deviation = (second.sqrt() / seen_squares**0.5).add_(self.eps)
            value.addcdiv_(first, deviation, value=-rate / seen)
            value.grad = None
