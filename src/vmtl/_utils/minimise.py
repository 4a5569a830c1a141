"""Minima by gradients: SciPy's L-BFGS and Adam. Torch's own optimisers import its compiler, which takes a second."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from vmtl._utils.types import Array


def minimise(
    unknown: Sequence[Tensor],
    loss: Callable[[], Tensor],
    *,
    iterations: int,
    history: int,
    least_slope: float,
    least_change: float,
) -> None:
    """L-BFGS: move ``unknown`` to the minimum of ``loss``, a function of it.

    ``history`` = steps that it remembers; it ends when no slope is above ``least_slope``, or when a step changes the
    loss by less than ``least_change``.
    """
    from scipy.optimize import minimize

    def evaluate(place: Array) -> tuple[float, Array]:
        _move(unknown, place)
        with torch.enable_grad():
            value = loss()
            slopes = torch.autograd.grad(value, list(unknown))
        return float(value.detach()), np.concatenate([slope.double().flatten().numpy() for slope in slopes])

    start = np.concatenate([value.detach().double().flatten().numpy() for value in unknown])
    unit = max(1.0, abs(evaluate(start)[0]))  # SciPy's tolerance is relative to the loss
    options = {"maxiter": iterations, "maxcor": history, "gtol": least_slope, "ftol": least_change / unit}
    _move(unknown, minimize(evaluate, start, method="L-BFGS-B", jac=True, options=options).x)


def minimise_smooth(
    evaluate: Callable[[Tensor], tuple[float, Tensor]], start: Tensor, *, iterations: int, least_change: float
) -> Tensor:
    """L-BFGS of one tensor: where ``evaluate``, which gives a loss and its slope, is least.

    It ends when a step changes the loss by less than ``least_change``.
    """
    from scipy.optimize import minimize

    def at(place: Array) -> tuple[float, Array]:
        value, slope = evaluate(torch.from_numpy(place).view_as(start))
        return value, slope.reshape(-1).numpy()

    first = np.ascontiguousarray(start.reshape(-1).numpy())
    unit = max(1.0, abs(at(first)[0]))  # SciPy's tolerance is relative to the loss
    options = {"maxiter": iterations, "maxcor": 6, "gtol": 1e-9, "ftol": least_change / unit}
    place = minimize(at, first, method="L-BFGS-B", jac=True, options=options).x
    return torch.from_numpy(place).view_as(start)


@torch.no_grad()
def _move(unknown: Sequence[Tensor], place: Array) -> None:
    """Set the tensors to the numbers of ``place``, one after the other."""
    parts = torch.from_numpy(place).split([value.numel() for value in unknown])
    for value, part in zip(unknown, parts, strict=True):
        value.copy_(part.reshape(value.shape))


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
