"""Which tasks resemble each other, from the evidence of the training rows; and the mixture prior that follows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl.batches import Rows

#: Most rows that are looked at, evenly from all tasks.
MAX_ROWS = 600
STEPS, RATE = 60, 0.1
#: Off-diagonal of B where all tasks are alike, and the pull towards that, in nats.
ALIKE, PULL = 0.95**2, 3.0
#: Structure counts if it gains this many nats per task over all pairs alike; the gate opens over WIDTH. Development
#: sets of tasks that are all alike gained up to 3.1 (40 tasks), groups of tasks 5.4 to 8.8.
GAIN, WIDTH = 4.25, 0.25
#: Mixing weights are the positive similarities to this power, so that weak ones vanish.
POWER = 4
#: A task whose correlation with its helpers falls below this part of the usual one opts out of sharing.
OPT_OUT = 0.5


@dataclass(frozen=True)
class Mixture:
    """The mixture prior before training: component i of task t is N(sharing_t mu_i, variance_t)."""

    alpha: Tensor  # (T, T) mixing weights, zero diagonal, rows sum to 1
    sharing: Tensor  # (T,) r_t
    variance: Tensor  # (T,) v_t
    covariance: Tensor  # (T, T) B, of one weight across tasks in the exact model


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
    b = torch.where(others, ALIKE * similarity, 1.0)
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
    own = _evenly(rows.task.cpu(), MAX_ROWS, seed)
    x, y, task = rows.x.cpu().double()[own], rows.y.cpu()[own], rows.task.cpu()[own]
    target = F.one_hot(y, rows.n_classes).double() if rows.is_classification else y.double()[:, None]
    target = target - target.mean(0)
    target = target / target.std().clamp_min(1e-12)
    evidence = _Evidence(x @ x.T, task, target, rows.n_tasks)
    found, with_structure = evidence.maximise(structure=True)
    _, alike = evidence.maximise(structure=False)
    gain = (with_structure - alike) / rows.n_tasks
    gate = 1 / (1 + math.exp(-max(-40.0, min(40.0, (gain - GAIN) / WIDTH))))
    return 1 - gate * (1 - found)


def _evenly(task: Tensor, limit: int, seed: int) -> Tensor:
    """At most ``limit`` row numbers, the same number from every task as far as it has them."""
    order = torch.randperm(len(task), generator=torch.Generator().manual_seed(seed))
    by_task = order[task[order].argsort(stable=True)]
    counts = torch.bincount(task)
    rank = torch.arange(len(task)) - (counts.cumsum(0) - counts)[task[by_task]]
    return by_task[rank.argsort(stable=True)[:limit]].sort().values


class _Evidence:
    """log N(y; 0, B . (a k + b) + c), of C - 1 independent outputs, and its gradient in closed form."""

    def __init__(self, kernel: Tensor, task: Tensor, target: Tensor, n_tasks: int) -> None:
        self.kernel, self.task, self.target, self.n_tasks = kernel, task, target, n_tasks
        self.members = F.one_hot(task, n_tasks).double()  # (n, T)
        self.scale = max(1, target.shape[1] - 1) / target.shape[1]

    def maximise(self, structure: bool) -> tuple[Tensor, float]:
        """S and the log evidence at its end; without ``structure`` all pairs of tasks are alike to the same degree."""
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
            b = ALIKE * found * (1 - eye) + eye
            value, grad_b, grad_logs = self._gradient(b.detach(), logs.detach())
            pull = PULL / self.n_tasks * (1 - found).sum() / 2 + 0.05 * logs.square().sum()
            loss = pull - (b * grad_b).sum() - (logs * grad_logs).sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        return found.detach(), value

    @torch.no_grad()
    def _gradient(self, b: Tensor, logs: Tensor) -> tuple[float, Tensor, Tensor]:
        signal, bias, noise = (2 * logs).exp()
        between = b[self.task][:, self.task]
        within = signal * self.kernel + bias
        factor = torch.linalg.cholesky(between * within + noise * torch.eye(len(self.task), dtype=torch.float64))
        solved = torch.cholesky_solve(self.target, factor)
        outputs = self.target.shape[1]
        value = -0.5 * (self.target * solved).sum() - outputs * factor.diagonal().log().sum()
        slope = 0.5 * self.scale * (solved @ solved.T - outputs * torch.cholesky_inverse(factor))
        grad_b = self.members.T @ ((slope * within) @ self.members)
        parts = [(slope * between * self.kernel).sum(), (slope * between).sum(), slope.diagonal().sum()]
        return float(self.scale * value), grad_b, 2 * torch.stack(parts) * torch.stack([signal, bias, noise])
