"""Layers with one set of weights for all tasks, or one for each; and layers whose weights are themselves Gaussian.

``groups`` is the length of the leading axis of every parameter: 1 when shared, T when each task has its own.

The Gaussian layers are the authors' code, not the paper, which has networks with two outputs, mean and scale. The
weights have no prior: nothing is paid for their widths.
"""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vmtl.model.distributions import Gaussian
from vmtl.model.parameter_groups import ParameterGroups


def pick(parameter: Tensor, task: Tensor | None) -> Tensor:
    """The slice of a (G, ...) parameter for each task: shared if G = 1, else by ``task`` (all if None)."""
    if len(parameter) == 1:
        return parameter.squeeze(0)
    return parameter if task is None else parameter[task]


class GroupedLinear(nn.Module):
    """x W + b with one (W, b) per group: (T, N, in) to (T, N, out)."""

    parameter_groups: ClassVar[ParameterGroups] = {"weight": "network", "bias": "network"}

    def __init__(
        self, groups: int, size_in: int, size_out: int, *, bias: float | None = None, deviation: float | None = None
    ) -> None:
        super().__init__()
        self.start, self.deviation = bias, deviation
        self.weight = nn.Parameter(torch.zeros(groups, size_in, size_out))
        self.bias = nn.Parameter(torch.zeros(groups, 1, size_out))

    def reset(self, generator: torch.Generator) -> None:
        """Uniform on +-1 / sqrt(in), as torch.nn.Linear; the bias too unless its start is given.

        With a ``deviation`` both are normal instead.
        """
        if self.deviation is not None:
            nn.init.normal_(self.weight, std=self.deviation, generator=generator)
            nn.init.normal_(self.bias, std=self.deviation, generator=generator)
            return
        reach = 1 / math.sqrt(self.weight.shape[1])
        nn.init.uniform_(self.weight, -reach, reach, generator=generator)
        if self.start is None:
            nn.init.uniform_(self.bias, -reach, reach, generator=generator)
        else:
            nn.init.constant_(self.bias, self.start)

    def forward(self, x: Tensor, task: Tensor | None = None) -> Tensor:
        weight, bias = pick(self.weight, task), pick(self.bias, task)
        if weight.dim() == 2:
            return F.linear(x, weight.mT, bias[0])
        return torch.baddbmm(bias, x, weight)


class NoisyLinear(nn.Module):
    """An affine map with weights N(W, S^2) and bias N(b, s^2): the outputs have mean x W + b, variance x^2 S^2 + s^2.

    where S, s = softplus of ``rho`` (G, in, out) and ``rho_bias`` (G, 1, out).
    """

    parameter_groups: ClassVar[ParameterGroups] = {"rho": "scale", "rho_bias": "scale"}
    #: Deviation of the means at the start, and where rho starts.
    deviation, start = 0.1, -3.0

    def __init__(self, groups: int, size_in: int, size_out: int) -> None:
        super().__init__()
        self.mean = GroupedLinear(groups, size_in, size_out, deviation=self.deviation)
        self.rho = nn.Parameter(torch.full((groups, size_in, size_out), self.start))
        self.rho_bias = nn.Parameter(torch.full((groups, 1, size_out), self.start))

    def forward(self, x: Tensor, task: Tensor | None = None) -> Gaussian:
        spread, own = F.softplus(pick(self.rho, task)), F.softplus(pick(self.rho_bias, task))
        variance = x.square() @ spread.square() + own.square()
        return Gaussian(self.mean(x, task), variance.clamp_min(1e-12).sqrt())


class NoisyMlp(nn.Module):
    """Two ELU layers and a noisy last one."""

    def __init__(self, groups: int, size_in: int, hidden: int, size_out: int) -> None:
        super().__init__()
        self.layer1 = GroupedLinear(groups, size_in, hidden)
        self.layer2 = GroupedLinear(groups, hidden, hidden)
        self.last = NoisyLinear(groups, hidden, size_out)

    def after_first(self, first: Tensor, task: Tensor | None = None) -> Gaussian:
        """What follows the first affine map."""
        q: Gaussian = self.last(F.elu(self.layer2(F.elu(first), task)), task)
        return q

    def forward(self, x: Tensor, task: Tensor | None = None) -> Gaussian:
        return self.after_first(self.layer1(x, task), task)
