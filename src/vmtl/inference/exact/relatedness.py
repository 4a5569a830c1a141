"""Which tasks resemble each other, from the evidence of the training rows; and the mixture prior that follows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl._utils.cholesky import cholesky
from vmtl.data.rows import Rows
from vmtl.data.subsampling import evenly, rank_in_task
from vmtl.model.mixing import Mixture

#: Most rows that are looked at, evenly from all tasks.
MAX_ROWS = 600
STEPS, RATE = 60, 0.1
#: Off-diagonal of B where all tasks are alike, and the pull towards that, in nats.
ALIKE, PULL = 0.95**2, 3.0
#: Structure counts if it gains this many nats per task over all pairs alike; the gate opens over WIDTH.
GAIN, WIDTH = 4.25, 0.25
#: Nats per task that structure found in one half of the rows may lose on the other half before it is held for chance.
FORESIGHT = 15.0
#: Mixing weights are the positive similarities to this power, so that weak ones vanish.
POWER = 4
#: A task whose correlation with its helpers falls below this part of the usual one opts out of sharing.
OPT_OUT = 0.5


def uniform_similarity(n_tasks: int) -> Tensor:
    return torch.ones(n_tasks, n_tasks, dtype=torch.float64)


def mixture(similarity: Tensor, correlation: float) -> Mixture:
    """Mixing weights alpha = S_+^4, normalised, and the law of w_t given its helpers.

    r_t = N rho_t / (1 + (N - 1) rho_t), v_t = 1 - r_t rho_t, N = 1 / sum_i alpha_ti^2 the number of helpers

    where rho_t = rho, the ``correlation``, if task t is as correlated with u_t = sum_i alpha_ti w_i as tasks that are
    all alike would be, and falls to 0 with the fourth power below half of that: a task that resembles nobody has
    r = 0 and v = 1, the prior N(0, I). B_ti = sqrt(rho_t rho_i) S_ti off the diagonal; all tasks alike give
    B = (1 - rho) I + rho 11', of which r and v are exactly the conditional.
    """
    n_tasks = len(similarity)
    others = ~torch.eye(n_tasks, dtype=torch.bool)
    powered = torch.where(others, similarity.clamp_min(0) ** POWER + 1e-4, 0.0)
    alpha = powered / powered.sum(-1, keepdim=True).clamp_min(1e-12)
    b = _covariance(similarity)
    spread = torch.einsum("ti,ij,tj->t", alpha, b, alpha).clamp_min(1e-12)
    usual = ALIKE / math.sqrt(ALIKE + (1 - ALIKE) / max(1, n_tasks - 1))
    kappa = (alpha * b).sum(-1) / spread.sqrt() / usual
    rho = correlation * (kappa / OPT_OUT).clamp(0, 1) ** POWER
    helpers = 1 / alpha.square().sum(-1).clamp_min(1e-12)
    sharing = torch.where(alpha.any(-1), helpers * rho / (1 + (helpers - 1) * rho), 0.0)
    covariance = torch.where(others, similarity * rho.sqrt() * rho.sqrt()[:, None], 1.0)
    return Mixture(alpha, sharing, (1 - sharing * rho).clamp_min(1e-3), covariance)


def similarity(rows: Rows, seed: int) -> Tensor:
    """S (T, T): unit diagonal, in [-1, 1]; all ones unless the rows speak clearly for structure.

    The evidence of a least-squares Gaussian process with kernel B_tt' k(x, x') is maximised over S = U U' with unit
    rows, with a pull towards S = 1; k is the inner product of the fixed features ``rows.x``.
    """
    own = evenly(rows.task.cpu(), MAX_ROWS, seed)
    rows = rows.cpu().take(own)
    x, weight = rows.x.double(), rows.weight.double()
    target = F.one_hot(rows.y, rows.n_classes).double() if rows.is_classification else rows.y.double()[:, None]
    target = target - weight @ target / weight.sum()
    target = target / (weight @ target.square() / weight.sum()).mean().sqrt().clamp_min(1e-12)
    evidence = _Evidence(x @ x.T, rows.task, target, weight * weight.sum() / weight.square().sum(), rows.n_tasks)
    structured, alike = (evidence.maximise(structure) for structure in (True, False))
    gain = (structured.value - alike.value) / rows.n_tasks
    gate = 1 / (1 + math.exp(-max(-40.0, min(40.0, (gain - GAIN) / WIDTH))))
    if gate > 0.01 and evidence.foresight(rank_in_task(rows.task, seed) % 2 == 0) < -FORESIGHT * rows.n_tasks:
        gate = 0.0
    return 1 - gate * (1 - structured.similarity)


@dataclass(frozen=True)
class _Optimum:
    """Where the evidence is largest."""

    similarity: Tensor  # (T, T) S
    logs: Tensor  # log deviations of signal, bias and noise
    value: float  # log evidence


def _covariance(similarity: Tensor) -> Tensor:
    """B where all tasks alike have ALIKE off the diagonal."""
    eye = torch.eye(len(similarity), dtype=similarity.dtype)
    return ALIKE * similarity * (1 - eye) + eye


class _Evidence:
    """log N(y; 0, B . (a k + b) + c / weight), of C - 1 independent outputs, and its gradient in closed form.

    A row of weight w stands for w rows, so that c^(-w / 2) is its part of the normalising constant.
    """

    def __init__(self, kernel: Tensor, task: Tensor, target: Tensor, weight: Tensor, n_tasks: int) -> None:
        self.kernel, self.task, self.target, self.n_tasks = kernel, task, target, n_tasks
        self.diagonal = 1 / weight  # of the noise
        self.absent = float((1 - weight).sum())
        self.members = F.one_hot(task, n_tasks).double()  # (n, T)
        self.scale = max(1, target.shape[1] - 1) / target.shape[1]

    def maximise(self, structure: bool) -> _Optimum:
        """Over S, signal, bias and noise; without ``structure`` all pairs of tasks are alike to the same degree."""
        eye = torch.eye(self.n_tasks, dtype=torch.float64)
        u = torch.cat([torch.full((self.n_tasks, 1), 0.9**0.5), 0.1**0.5 * eye], 1).double()
        degree = torch.tensor(math.log(9.0), dtype=torch.float64)  # logit of the common similarity
        logs = torch.tensor([0.0, -1.0, -0.5], dtype=torch.float64)  # deviations of signal, bias and noise
        learned = [(u if structure else degree).requires_grad_(), logs.requires_grad_()]
        optimiser = torch.optim.Adam(learned, lr=RATE, betas=(0.9, 0.95))
        for _ in range(STEPS):
            if structure:
                unit = F.normalize(u, dim=-1)
                found = unit @ unit.T
            else:
                found = degree.sigmoid() * (1 - eye) + eye
            b = _covariance(found)
            value, grad_b, grad_logs = self._gradient(b.detach(), logs.detach())
            pull = PULL / self.n_tasks * (1 - found).sum() / 2 + 0.05 * logs.square().sum()
            loss = pull - (b * grad_b).sum() - (logs * grad_logs).sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        return _Optimum(found.detach(), logs.detach(), value)

    def foresight(self, first: Tensor) -> float:
        """Nats by which structure found in one half of the rows predicts the other half better than all pairs alike.

        ``first`` (n,) says which rows are the first half; each half predicts the other.
        """
        total = 0.0
        for seen in (first, ~first):
            own = seen.nonzero().flatten()
            part = _Evidence(
                self.kernel[own][:, own], self.task[own], self.target[own], 1 / self.diagonal[own], self.n_tasks
            )
            structured, alike = (self._predict(part.maximise(structure), seen) for structure in (True, False))
            total += structured - alike
        return total

    @torch.no_grad()
    def _predict(self, found: _Optimum, seen: Tensor) -> float:
        """log density of each row that was not ``seen``, given those that were, summed."""
        signal, bias, noise = (2 * found.logs).exp()
        kernel = _covariance(found.similarity)[self.task][:, self.task] * (signal * self.kernel + bias)
        noise = noise * self.diagonal
        factor = cholesky(kernel[seen][:, seen] + torch.diag(noise[seen]))
        half = torch.linalg.solve_triangular(factor, kernel[seen][:, ~seen], upper=False)
        mean = half.T @ torch.linalg.solve_triangular(factor, self.target[seen], upper=False)
        variance = (kernel.diagonal()[~seen] - half.square().sum(0) + noise[~seen])[:, None]
        error = (self.target[~seen] - mean).square()
        return float(-0.5 * self.scale * ((variance.log() + error / variance) / self.diagonal[~seen, None]).sum())

    @torch.no_grad()
    def _gradient(self, b: Tensor, logs: Tensor) -> tuple[float, Tensor, Tensor]:
        signal, bias, noise = (2 * logs).exp()
        between = b[self.task][:, self.task]
        within = signal * self.kernel + bias
        factor = cholesky(between * within + torch.diag(noise * self.diagonal))
        solved = torch.cholesky_solve(self.target, factor)
        outputs = self.target.shape[1]
        value = -0.5 * (self.target * solved).sum() - outputs * factor.diagonal().log().sum()
        value += 0.5 * outputs * self.absent * noise.log()
        slope = 0.5 * self.scale * (solved @ solved.T - outputs * torch.cholesky_inverse(factor))
        grad_b = self.members.T @ ((slope * within) @ self.members)
        in_noise = (slope.diagonal() * self.diagonal).sum() + 0.5 * self.scale * outputs * self.absent / noise
        parts = [(slope * between * self.kernel).sum(), (slope * between).sum(), in_noise]
        return float(self.scale * value), grad_b, 2 * torch.stack(parts) * torch.stack([signal, bias, noise])
