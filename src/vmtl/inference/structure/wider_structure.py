"""Who learns from whom with a task more: the joint law of all tasks, read again."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from vmtl.inference.structure.covariance import MAX_TABLE, AlikeCovariance
from vmtl.inference.structure.known_tasks import StructureBelief
from vmtl.inference.structure.mixing_weights import (
    alike_structure,
    conditional,
    exchangeable,
    resemblance,
    structure_of,
)
from vmtl.inference.structure.newcomer import distances_of
from vmtl.inference.structure.structure_posterior import INTERVAL
from vmtl.model.mixing import TaskStructure


def even_structure(structure: TaskStructure, correlation: float) -> TaskStructure:
    """One more of tasks that are all alike."""
    n_tasks = len(structure.sharing) + 1
    if structure.covariance is None or n_tasks > MAX_TABLE:
        return alike_structure(AlikeCovariance(n_tasks, correlation))
    return exchangeable(n_tasks, correlation)


def wider_structure(
    structure: TaskStructure, row: Tensor, points: Tensor, belief: StructureBelief, draws: Tensor
) -> TaskStructure:
    """The structure with a task of correlations ``row`` (T,) at the last of the ``points`` (T + 1, Q).

    ``draws`` = squared distances as other rows of that task might have shown them (S, T + 1, T + 1). The interval of a
    known pair is what it was, in proportion, and wider where the new task makes it so.
    """
    known = structure.covariance
    assert known is not None
    wider = replace(structure_of(_bordered(known, row)), positions=points)
    alpha, sharing, _ = conditional(
        torch.stack([_bordered(known, belief.covariance(drawn)[-1, :-1]) for drawn in draws])
    )
    wider = replace(
        wider,
        alpha_interval=_interval(alpha, wider.alpha, structure.alpha_interval, structure.alpha),
        sharing_interval=_interval(sharing, wider.sharing, structure.sharing_interval, structure.sharing),
    )
    if structure.beta is None:
        return wider
    if structure.alpha is not None and torch.equal(structure.beta, structure.alpha):  # tied
        return replace(wider, beta=wider.alpha, beta_interval=wider.alpha_interval)
    beta = resemblance(distances_of(points))
    return replace(
        wider, beta=beta, beta_interval=_interval(resemblance(draws), beta, structure.beta_interval, structure.beta)
    )


def _bordered(matrix: Tensor, row: Tensor) -> Tensor:
    """A correlation matrix (T, T) with one more row and column."""
    one = torch.ones(1, dtype=matrix.dtype)
    return torch.cat([torch.cat([matrix, row[None]]), torch.cat([row, one])[:, None]], 1)


def _interval(draws: Tensor, value: Tensor | None, known: Tensor | None, before: Tensor | None) -> Tensor | None:
    """(2, ...) ends of the draws (S, ...) about ``value``; of known tasks at least ``known``, moved as the value.

    None where there was no interval before.
    """
    if value is None or known is None or before is None:
        return None
    low, high = draws.quantile(torch.tensor(INTERVAL, dtype=draws.dtype), 0)
    ends = torch.stack([torch.minimum(low, value), torch.maximum(high, value)])
    place = tuple(slice(size) for size in before.shape)
    moved = known * torch.where(before > 1e-9, value[place] / before.clamp_min(1e-9), 1.0)
    ends[0][place] = torch.minimum(ends[0][place], moved[0])
    ends[1][place] = torch.maximum(ends[1][place], moved[1]).clamp_max(1)
    return ends
