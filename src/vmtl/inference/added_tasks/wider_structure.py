"""Who learns from whom with a task more: the joint law of all tasks, read again."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from vmtl.inference.structure.covariance import TaskCovariance
from vmtl.inference.structure.mixing_weights import conditional, resemblance, structure_of
from vmtl.inference.structure.newcomer import distances_of
from vmtl.inference.structure.placed_tasks import INTERVAL
from vmtl.results.relatedness import TaskStructure


def wider_structure(
    structure: TaskStructure, covariance: TaskCovariance, points: Tensor, drawn: Tensor, distances: Tensor
) -> TaskStructure:
    """The structure with one more task, the last of B = ``covariance`` and of the ``points`` (T + 1, Q).

    Other rows of that task might have shown other correlations, ``drawn`` (S, T), and squared ``distances``
    (S, T + 1, T + 1). The interval of a known pair is what it was, in proportion, and wider where the new task makes
    it so.
    """
    wider = replace(structure_of(covariance), positions=points)
    tables = covariance.between(torch.arange(covariance.n_tasks)).repeat(len(drawn), 1, 1)
    tables[:, -1, :-1] = tables[:, :-1, -1] = drawn
    alpha, sharing, _ = conditional(tables)
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
        wider, beta=beta, beta_interval=_interval(resemblance(distances), beta, structure.beta_interval, structure.beta)
    )


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
