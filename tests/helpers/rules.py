"""Linear tasks in one place that follow rules, and the groups of a reading."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.inference.structure.readings.evidence import Targets
from vmtl.inference.structure.readings.standing_apart import Groups, Reading

N_TASKS, FEATURES = 8, 3
NOWHERE = torch.zeros(N_TASKS, N_TASKS, dtype=torch.float64)
RULES = torch.tensor([[1.0, -1.0, 0.5], [-0.3, 0.4, 1.5], [-1.2, -0.8, -0.4]], dtype=torch.float64)
ONE, TWO, THREE = torch.zeros(N_TASKS, dtype=torch.long), torch.arange(N_TASKS) % 2, torch.arange(N_TASKS) % 3
KINDS = pytest.mark.parametrize("classes", [0, 2], ids=["numbers", "classes"])


def tasks_of(weights: Tensor, classes: int, seed: int = 0, rows_each: int = 15) -> Targets:
    """Linear tasks of ``weights`` (T, K) with rows in one place; two classes by the sign, or numbers."""
    generator = torch.Generator().manual_seed(seed)
    task = torch.arange(len(weights)).repeat_interleave(rows_each)
    x = torch.randn(len(task), FEATURES, generator=generator, dtype=torch.float64)
    y = (x * weights[task]).sum(1) + 0.3 * torch.randn(len(task), generator=generator, dtype=torch.float64)
    label = (y > 0).long() if classes else y
    weight = torch.ones(len(y), dtype=torch.float64)
    return Targets.of(Rows(x, label, task, weight, len(weights), max(1, classes), bool(classes)))


def partition(group: Tensor) -> set[frozenset[int]]:
    """The groups whatever their names, without empty ones."""
    return {frozenset((group == name).nonzero().flatten().tolist()) for name in group.unique()}


def groups_of(reading: Reading) -> Groups:
    assert reading.groups is not None
    return reading.groups


def group_of(reading: Reading) -> Tensor:
    return groups_of(reading).group
