"""From whom each task learns, and how much: what a covariance of the tasks says of one of them given the others."""

from __future__ import annotations

import torch
from torch import Tensor

from vmtl.inference.structure.covariance import AlikeCovariance
from vmtl.model.mixing import TaskStructure

#: v_t at least, in units of the prior variance.
LEAST_VARIANCE = 1e-3


def alike_structure(covariance: AlikeCovariance) -> TaskStructure:
    """Who learns from whom where everybody learns from everybody: r = (T - 1) rho / (1 + (T - 2) rho)."""
    n_tasks, rho = covariance.n_tasks, covariance.correlation
    sharing = torch.full((n_tasks,), (n_tasks - 1) * rho / (1 + (n_tasks - 2) * rho), dtype=torch.float64)
    return TaskStructure(None, sharing, (1 - rho * sharing).clamp_min(LEAST_VARIANCE), None)


def structure_of(covariance: Tensor) -> TaskStructure:
    """Who learns from whom under B = ``covariance`` (T, T)."""
    alpha, sharing, variance = conditional(covariance)
    return TaskStructure(alpha, sharing, variance, covariance)


def exchangeable(n_tasks: int, correlation: float) -> TaskStructure:
    """The structure of tasks that are all alike: B = (1 - rho) I + rho 11'."""
    eye = torch.eye(n_tasks, dtype=torch.float64)
    return structure_of((1 - correlation) * eye + correlation)


def conditional(covariance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """alpha (..., T, T), r (..., T) and v (..., T) of B (..., T, T).

    Of two tasks that say nearly the same, one may have a negative weight: it corrects the other. A mixture has no
    negative weights, so they count as 0, and

        r_t = cov(w_t, u_t) / var(u_t),    v_t = var(w_t - r_t u_t),    u_t = sum_i alpha_ti w_i

    is the best that a mixture with these weights can do. It is the conditional above wherever no weight is negative.
    """
    eye = torch.eye(covariance.shape[-1], dtype=torch.bool)
    precision = torch.linalg.inv(covariance)
    weights = -precision / precision.diagonal(dim1=-2, dim2=-1).unsqueeze(-1)
    weights = weights.clamp_min(0).masked_fill(eye, 0.0)
    total = weights.sum(-1, keepdim=True)
    even = torch.where(eye, 0.0, 1 / max(1, len(eye) - 1)).to(weights)
    alpha = torch.where(total > 1e-9, weights / total.clamp_min(1e-9), even)
    shared = (alpha * covariance).sum(-1)  # cov(w_t, u_t)
    spread = torch.einsum("...ti,...ij,...tj->...t", alpha, covariance, alpha)  # var(u_t)
    sharing = (shared / spread.clamp_min(1e-12)).clamp(0, 1)
    variance = (1 - 2 * sharing * shared + sharing.square() * spread).clamp_min(LEAST_VARIANCE)
    return alpha, sharing, variance


def resemblance(distances: Tensor) -> Tensor:
    """beta (..., T, T): softmax of minus the squared distances of the representations, off the diagonal."""
    eye = torch.eye(distances.shape[-1], dtype=torch.bool)
    return (-distances).masked_fill(eye, -torch.inf).softmax(-1)
