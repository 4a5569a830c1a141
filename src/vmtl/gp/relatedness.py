"""Who learns from whom: the conditional law of one task given the others, written as the mixture of Eq. 6.

w_t | others ~ N(sum_i r_t alpha_ti w_i, v_t),    r_t alpha_ti = -P_ti / P_tt,    P = B^-1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from vmtl._utils.cholesky import cholesky, inverse
from vmtl.gp.positions.task_positions import TaskPositions
from vmtl.gp.task_covariance import LEAST_OWN, DenseCovariance, LowRankCovariance, TaskCovariance, decayed
from vmtl.results.relatedness import MAX_TASKS, TaskStructure

#: v_t at least, in units of the prior variance.
LEAST_VARIANCE = 1e-3
#: Tasks whose weights are computed together, where there is no table of them.
PART_TASKS = 500
#: Quantiles of the draws between which an interval lies: 90 % of them.
INTERVAL = (0.05, 0.95)


def structure_of(covariance: TaskCovariance) -> TaskStructure:
    """Who learns from whom under B; of thousands of tasks only how much, and the factor that knows from whom."""
    if isinstance(covariance, DenseCovariance):
        alpha, sharing, variance = conditional(covariance.matrix)
        return TaskStructure(alpha, sharing, variance, covariance.matrix)
    assert isinstance(covariance, LowRankCovariance)
    has_table = covariance.n_tasks <= MAX_TASKS
    tables, sharings, variances = [], [], []
    for some in torch.arange(covariance.n_tasks).split(PART_TASKS):
        alpha, sharing, variance = conditional_of(covariance, some)
        tables += [alpha] if has_table else []
        sharings.append(sharing)
        variances.append(variance)
    return TaskStructure(
        torch.cat(tables) if has_table else None,
        torch.cat(sharings),
        torch.cat(variances),
        None,
        factor=covariance.factor,
    )


def covariance_of(structure: TaskStructure) -> TaskCovariance:
    """B."""
    if structure.covariance is not None:
        return DenseCovariance(structure.covariance)
    assert structure.factor is not None
    return LowRankCovariance(structure.factor)


def conditional(covariance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """alpha (..., T, T), r (..., T) and v (..., T) of B (..., T, T).

    Of two tasks that say nearly the same, one may have a negative weight: it corrects the other. A mixture has no
    negative weights, so they count as 0, and

        r_t = cov(w_t, u_t) / var(u_t),    v_t = var(w_t - r_t u_t),    u_t = sum_i alpha_ti w_i

    is the best that a mixture with these weights can do. It is the conditional above wherever no weight is negative.
    """
    eye = torch.eye(covariance.shape[-1], dtype=torch.bool)
    precision = inverse(covariance)
    alpha = _mixture(-precision / precision.diagonal(dim1=-2, dim2=-1).unsqueeze(-1), eye)
    shared = (alpha * covariance).sum(-1)  # cov(w_t, u_t)
    spread = torch.einsum("...ti,...ij,...tj->...t", alpha, covariance, alpha)  # var(u_t)
    return alpha, *_strength(shared, spread)


def conditional_of(covariance: LowRankCovariance, some: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same of ``some`` (S,) of many tasks: alpha (S, T), r (S,) and v (S,).

    With B = Phi Phi' + D, P = D^-1 - Psi Psi' where Psi = D^-1 Phi L^-T, L L' = I + Phi' D^-1 Phi (Woodbury).
    """
    factor, own = covariance.factor, covariance.own.clamp_min(LEAST_OWN)
    scaled = factor / own[:, None]
    inner = torch.eye(factor.shape[1], dtype=factor.dtype) + factor.T @ scaled
    half = torch.linalg.solve_triangular(cholesky(inner), scaled.T, upper=False).T  # (T, R) Psi
    precision = 1 / own - half.square().sum(-1)  # (T,) P_tt
    itself = some[:, None] == torch.arange(covariance.n_tasks)
    alpha = _mixture(half[some] @ half.T / precision[some, None], itself)
    mixed = alpha @ factor  # (S, R)
    shared = (mixed * factor[some]).sum(-1)
    return alpha, *_strength(shared, mixed.square().sum(-1) + alpha.square() @ own)


def _mixture(weights: Tensor, itself: Tensor) -> Tensor:
    """alpha (..., S, T) of r_t alpha_ti = ``weights``; even where nobody teaches. ``itself`` (S, T): who one is."""
    weights = weights.clamp_min(0).masked_fill(itself, 0.0)
    total = weights.sum(-1, keepdim=True)
    even = torch.where(itself, 0.0, 1 / max(1, itself.shape[-1] - 1)).to(weights)
    return torch.where(total > 1e-9, weights / total.clamp_min(1e-9), even)


def _strength(shared: Tensor, spread: Tensor) -> tuple[Tensor, Tensor]:
    """r (...) and v (...) of cov(w_t, u_t) and var(u_t)."""
    sharing = (shared / spread.clamp_min(1e-12)).clamp(0, 1)
    return sharing, (1 - 2 * sharing * shared + sharing.square() * spread).clamp_min(LEAST_VARIANCE)


def resemblance(distances: Tensor) -> Tensor:
    """beta (..., T, T): softmax of minus the squared distances of the representations, off the diagonal."""
    eye = torch.eye(distances.shape[-1], dtype=torch.bool)
    return (-distances).masked_fill(eye, -torch.inf).softmax(-1)


def with_intervals(
    structure: TaskStructure,
    positions: TaskPositions,
    draw_sharing: Callable[[int, torch.Generator], tuple[Tensor, Tensor]],
    isolated: Tensor,
    seed: int,
) -> TaskStructure:
    """The structure with positions, beta and 90 % intervals; of thousands of tasks the positions alone.

    A draw is a strength and a decay by their probability, and distances as other rows of the same tasks might have shown
    them. Few rows make wide intervals about an even map, many rows narrow ones.
    """
    structure = replace(structure, positions=positions.points)
    if structure.alpha is None:
        return structure
    distances = positions.draws()  # (S, T, T)
    strength, decay = draw_sharing(len(distances), torch.Generator().manual_seed(seed))
    drawn = decayed(distances, strength[:, None, None], decay[:, None, None], isolated)
    alpha, sharing, _ = conditional(drawn)
    beta = resemblance(positions.distances())
    return replace(
        structure,
        beta=beta,
        alpha_interval=_interval(alpha, structure.alpha),
        beta_interval=_interval(resemblance(distances), beta),
        sharing_interval=_interval(sharing, structure.sharing),
    )


def _interval(draws: Tensor, value: Tensor) -> Tensor:
    """(2, ...) the ends of most ``draws`` (S, ...), with ``value`` between them."""
    low, high = draws.quantile(torch.tensor(INTERVAL, dtype=torch.float64), 0)
    return torch.stack([torch.minimum(low, value), torch.maximum(high, value)])
