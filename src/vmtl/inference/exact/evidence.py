"""The evidence of the least-squares model about who resembles whom."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl._utils.cholesky import cholesky

STEPS, RATE = 60, 0.1
#: Off-diagonal of B where all tasks are alike, and the pull towards that, in nats.
ALIKE, PULL = 0.95**2, 3.0
#: The pull of the log deviations towards 0.
LOG_PULL = 0.05


def similarity_covariance(similarity: Tensor) -> Tensor:
    """B (T, T) of tasks that resemble each other like S; all tasks alike have ALIKE off the diagonal."""
    eye = torch.eye(len(similarity), dtype=similarity.dtype)
    return ALIKE * similarity * (1 - eye) + eye


@dataclass(frozen=True)
class Optimum:
    """Where the evidence is largest."""

    similarity: Tensor  # (T, T) S
    logs: Tensor  # (3,) log deviations of signal, bias and noise
    value: float  # log evidence


class Evidence:
    """log N(y; 0, B . (a k + b) + c / weight), of C - 1 independent outputs, and its gradient in closed form.

    where B = the covariance across tasks, spread over the rows by ``task`` (n,); k = ``kernel`` (n, n); y = ``target``
    (n, C); a, b, c = the variances of signal, bias and noise. A row of weight w stands for w rows, so that c^(-w / 2)
    is its part of the normalising constant.
    """

    def __init__(self, kernel: Tensor, task: Tensor, target: Tensor, weight: Tensor, n_tasks: int) -> None:
        self.kernel, self.task, self.target, self.n_tasks = kernel, task, target, n_tasks
        self.inverse_weight = 1 / weight  # (n,)
        self.missing_weight = float((1 - weight).sum())
        self.members = F.one_hot(task, n_tasks).double()  # (n, T)
        self.outputs = target.shape[1]
        self.independent = max(1, self.outputs - 1) / self.outputs  # part of the outputs

    def subset(self, rows: Tensor) -> Evidence:
        """The evidence of some rows, by number."""
        kernel, weight = self.kernel[rows][:, rows], 1 / self.inverse_weight[rows]
        return Evidence(kernel, self.task[rows], self.target[rows], weight, self.n_tasks)

    @torch.no_grad()
    def value_and_gradient(self, b: Tensor, logs: Tensor) -> tuple[float, Tensor, Tensor]:
        """At B (T, T) and the log deviations of signal, bias and noise (3,): the value and both gradients."""
        signal, bias, noise = (2 * logs).exp()
        between = b[self.task][:, self.task]
        within = signal * self.kernel + bias
        factor = cholesky(between * within + torch.diag(noise * self.inverse_weight))
        solved = torch.cholesky_solve(self.target, factor)
        value = -0.5 * (self.target * solved).sum() - self.outputs * factor.diagonal().log().sum()
        value += 0.5 * self.outputs * self.missing_weight * noise.log()
        slope = 0.5 * self.independent * (solved @ solved.T - self.outputs * torch.cholesky_inverse(factor))
        by_b = self.members.T @ ((slope * within) @ self.members)
        by_noise = (slope.diagonal() * self.inverse_weight).sum()
        by_noise = by_noise + 0.5 * self.independent * self.outputs * self.missing_weight / noise
        by_variance = torch.stack([(slope * between * self.kernel).sum(), (slope * between).sum(), by_noise])
        return float(self.independent * value), by_b, 2 * by_variance * torch.stack([signal, bias, noise])

    @torch.no_grad()
    def log_predictive(self, optimum: Optimum, seen: Tensor) -> float:
        """log density of each row that was not ``seen`` (n,), given those that were, summed."""
        signal, bias, noise = (2 * optimum.logs).exp()
        between = similarity_covariance(optimum.similarity)[self.task][:, self.task]
        kernel = between * (signal * self.kernel + bias)
        noise = noise * self.inverse_weight
        factor = cholesky(kernel[seen][:, seen] + torch.diag(noise[seen]))
        half = torch.linalg.solve_triangular(factor, kernel[seen][:, ~seen], upper=False)
        mean = half.T @ torch.linalg.solve_triangular(factor, self.target[seen], upper=False)
        variance = (kernel.diagonal()[~seen] - half.square().sum(0) + noise[~seen])[:, None]
        error = (self.target[~seen] - mean).square()
        losses = (variance.log() + error / variance) / self.inverse_weight[~seen, None]
        return float(-0.5 * self.independent * losses.sum())


class _Similarity(Protocol):
    """S (T, T) as a function of one parameter."""

    parameter: Tensor

    def __call__(self) -> Tensor: ...


class Positions:
    """S = U U' with unit rows: every pair of tasks resembles each other in its own way."""

    def __init__(self, n_tasks: int) -> None:
        eye = torch.eye(n_tasks, dtype=torch.float64)
        u = torch.cat([torch.full((n_tasks, 1), 0.9**0.5), 0.1**0.5 * eye], 1).double()  # (T, T + 1)
        self.parameter = u.requires_grad_()

    def __call__(self) -> Tensor:
        unit = F.normalize(self.parameter, dim=-1)
        return unit @ unit.T


class OneDegree:
    """All pairs of tasks are alike to the same degree."""

    def __init__(self, n_tasks: int) -> None:
        self.eye = torch.eye(n_tasks, dtype=torch.float64)
        self.parameter = torch.tensor(math.log(9.0), dtype=torch.float64).requires_grad_()  # its logit

    def __call__(self) -> Tensor:
        return self.parameter.sigmoid() * (1 - self.eye) + self.eye


def maximise(evidence: Evidence, similarity: _Similarity) -> Optimum:
    """Over S, signal, bias and noise, with a pull towards S = 1."""
    logs = torch.tensor([0.0, -1.0, -0.5], dtype=torch.float64)  # deviations of signal, bias and noise
    optimiser = torch.optim.Adam([similarity.parameter, logs.requires_grad_()], lr=RATE, betas=(0.9, 0.95))
    for _ in range(STEPS):
        s = similarity()
        b = similarity_covariance(s)
        value, by_b, by_logs = evidence.value_and_gradient(b.detach(), logs.detach())
        pull = PULL / evidence.n_tasks * (1 - s).sum() / 2 + LOG_PULL * logs.square().sum()
        loss = pull - (b * by_b).sum() - (logs * by_logs).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return Optimum(s.detach(), logs.detach(), value)


def evidence_gain(evidence: Evidence) -> tuple[float, Tensor]:
    """Nats that structure gains over all pairs alike, and that structure S (T, T)."""
    structured, alike = (maximise(evidence, kind(evidence.n_tasks)) for kind in (Positions, OneDegree))
    return structured.value - alike.value, structured.similarity


def cross_predictive_gain(evidence: Evidence, first: Tensor) -> float:
    """Nats by which structure found in one half of the rows predicts the other half better than all pairs alike.

    ``first`` (n,) says which rows are the first half; each half predicts the other.
    """
    gain = 0.0
    for seen in (first, ~first):
        half = evidence.subset(seen.nonzero().flatten())
        structured, alike = (
            evidence.log_predictive(maximise(half, kind(evidence.n_tasks)), seen) for kind in (Positions, OneDegree)
        )
        gain += structured - alike
    return gain
