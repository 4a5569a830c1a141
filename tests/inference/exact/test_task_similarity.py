"""Similarity of tasks: all alike unless the rows speak clearly for structure."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from helpers.toys import toy
from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_evenly
from vmtl.datasets import make_task_groups
from vmtl.inference.exact import task_similarity as similarity_module
from vmtl.inference.exact.task_similarity import similarity_of, task_similarity


def test_rows_of_hardly_any_weight_do_not_count():
    drawn = make_task_groups(seed=0).problem
    x, y, task = (torch.as_tensor(value) for value in (drawn.X, drawn.y, drawn.task))
    rows = Rows(x.double(), y, task, torch.ones(len(y), dtype=torch.float64), drawn.n_tasks, drawn.n_classes, True)
    rows = rows.take(subsample_evenly(task, 240, 0))
    mirrored = replace(rows, x=-rows.x, weight=1e-9 * rows.weight)
    fields = ("x", "y", "task", "weight")
    both = replace(rows, **{name: torch.cat([getattr(rows, name), getattr(mirrored, name)]) for name in fields})
    torch.testing.assert_close(task_similarity(both, 0), task_similarity(rows, 0), atol=1e-3, rtol=0)


def test_structure_that_predicts_nothing_is_chance(monkeypatch):
    """Thirty tasks of a few noisy rows: evidence alone finds structure in them, the other half of the rows none."""
    generator = torch.Generator().manual_seed(0)
    task = torch.arange(150) % 30
    x = torch.randn(150, 8, generator=generator, dtype=torch.float64)
    y = x[:, 0] + torch.randn(150, generator=generator, dtype=torch.float64)
    rows = Rows(x, y, task, torch.ones(150, dtype=torch.float64), 30, 1, False)
    monkeypatch.setattr(similarity_module, "GAIN", 0.0)
    assert task_similarity(rows, 0).min() == 1
    monkeypatch.setattr(similarity_module, "MAX_CROSS_LOSS", math.inf)
    assert task_similarity(rows, 0).min() < 0.9


def test_tasks_all_alike_stay_uniform():
    rows = toy([20] * 5, classes=3, seed=1).rows()
    assert task_similarity(rows, 0).min() > 0.99


@pytest.mark.parametrize("n_tasks", [1, 2, 4])
def test_what_may_be_shared_decides(n_tasks, monkeypatch):
    rows = toy([3] * n_tasks, classes=2).rows()
    inferred = torch.full((n_tasks, n_tasks), 0.3)
    monkeypatch.setattr(similarity_module, "task_similarity", lambda rows, seed: inferred)
    ones = torch.ones(n_tasks, n_tasks, dtype=torch.float64)
    assert torch.equal(similarity_of(rows, "independent", 0), torch.eye(n_tasks, dtype=torch.float64))
    assert torch.equal(similarity_of(rows, "uniform", 0), ones)
    assert torch.equal(similarity_of(rows, "evidence", 0), inferred if n_tasks > 2 else ones)
