"""Which tasks resemble each other."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl.data.rows import Rows
from vmtl.data.subsampling import rank_in_task, subsample_evenly
from vmtl.inference.exact.evidence import Evidence, cross_predictive_gain, evidence_gain

#: Most rows that are looked at, evenly from all tasks.
MAX_ROWS = 600
#: Structure counts if it gains this many nats per task over all pairs alike; the gate opens over WIDTH.
GAIN, WIDTH = 4.25, 0.25
#: Nats per task that structure found in one half of the rows may lose on the other half before it is held for chance.
MAX_CROSS_LOSS = 15.0

#: What may be shared: nothing; the same with every task; or what the rows say.
Relatedness = Literal["independent", "uniform", "evidence"]


def similarity_of(rows: Rows, relatedness: Relatedness, seed: int) -> Tensor:
    """S (T, T) of the tasks of the feature rows; up to two tasks have no structure that could be found."""
    if relatedness == "independent":
        return torch.eye(rows.n_tasks, dtype=torch.float64)
    if relatedness == "uniform" or rows.n_tasks <= 2:
        return uniform_similarity(rows.n_tasks)
    return task_similarity(rows, seed)


def uniform_similarity(n_tasks: int) -> Tensor:
    """S of tasks that are all alike."""
    return torch.ones(n_tasks, n_tasks, dtype=torch.float64)


def task_similarity(rows: Rows, seed: int) -> Tensor:
    """S (T, T): unit diagonal, in [-1, 1]; all ones unless the rows speak clearly for structure.

    The evidence of a least-squares Gaussian process with kernel B_tt' k(x, x') is maximised over S = U U' with unit
    rows, with a pull towards S = 1; k is the inner product of the fixed features ``rows.x``.
    """
    rows = rows.cpu()
    rows = rows.take(subsample_evenly(rows.task, MAX_ROWS, seed))
    evidence = _evidence_of(rows)
    gain, similarity = evidence_gain(evidence)
    gate = _gate(gain / rows.n_tasks)
    if gate > 0.01:
        first_half = rank_in_task(rows.task, seed) % 2 == 0
        if cross_predictive_gain(evidence, first_half) < -MAX_CROSS_LOSS * rows.n_tasks:
            gate = 0.0
    return 1 - gate * (1 - similarity)


def _gate(gain: float) -> float:
    """How far structure counts that gains so many nats per task, from 0 to 1."""
    return 1 / (1 + math.exp(-max(-40.0, min(40.0, (gain - GAIN) / WIDTH))))


def _evidence_of(rows: Rows) -> Evidence:
    """Of the standardised targets, or of the indicators of the classes; weights add up to the rows that count."""
    x, weight = rows.x.double(), rows.weight.double()
    target = F.one_hot(rows.y, rows.n_classes).double() if rows.is_classification else rows.y.double()[:, None]
    target = target - weight @ target / weight.sum()
    target = target / (weight @ target.square() / weight.sum()).mean().sqrt().clamp_min(1e-12)
    return Evidence(x @ x.T, rows.task, target, weight * weight.sum() / weight.square().sum(), rows.n_tasks)
