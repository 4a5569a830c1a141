"""Scale and correlation of a classifier, where the truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from helpers.toys import toy
from vmtl.data.rows import Rows
from vmtl.inference.exact.kernel_selection import ASSUMED
from vmtl.inference.exact.posterior import solve_classifier
from vmtl.inference.exact.strength import choose_strength, left_out_loss
from vmtl.inference.exact.task_similarity import uniform_similarity
from vmtl.inference.exact.task_structure import structure_of


def noisy_classes(signal: float, correlation: float, seed: int = 0) -> Rows:
    """Ten tasks of two classes whose weights correlate; labels follow logits of size ``signal``."""
    rng = np.random.default_rng(seed)
    x, task = rng.normal(size=(200, 4)) / 2, np.repeat(np.arange(10), 20)
    w = correlation**0.5 * rng.normal(size=4) + (1 - correlation) ** 0.5 * rng.normal(size=(10, 4))
    y = (signal * (x * w[task]).sum(1) + rng.logistic(size=200) > 0).astype(int)
    return Rows(*(torch.as_tensor(v) for v in (x, y, task, np.ones(200))), 10, 2, True)


def chosen(rows: Rows, similarity: torch.Tensor) -> tuple[float, float]:
    """rho and the scale of a classifier."""
    begin = replace(ASSUMED, scale=4.0)
    return choose_strength(rows, begin, lambda rho: structure_of(similarity, rho).covariance, 0)


def test_the_scale_follows_the_signal():
    faint, clear = (
        np.mean([chosen(noisy_classes(s, 0.95, k), uniform_similarity(10))[1] for k in range(3)]) for s in (0.5, 20)
    )
    assert 4 * faint < clear


def test_what_a_task_has_of_its_own_follows_the_relatedness():
    """s sqrt(1 - rho), the prior deviation of a task's weights from what it shares."""

    def private(correlation: float, seed: int) -> float:
        rho, scale = chosen(noisy_classes(10.0, correlation, seed), uniform_similarity(10))
        return scale * (1 - rho) ** 0.5

    unrelated, related = (np.mean([private(rho, k) for k in range(3)]) for rho in (0.0, 0.98))
    assert 2 * related < unrelated


def test_tasks_that_share_nothing_have_only_their_scale_chosen():
    rho, scale = chosen(noisy_classes(5.0, 0.5), torch.eye(10, dtype=torch.float64))
    assert rho == pytest.approx(0.9)
    assert scale != 4.0


def test_the_loss_of_left_out_rows_is_close_to_refitting():
    rows = toy([8, 7], classes=2, spread=2.0).rows()
    b = structure_of(uniform_similarity(2), 0.8).covariance
    total = 0.0
    for n in range(15):
        rest = rows.take(torch.tensor([m for m in range(15) if m != n]))
        w = solve_classifier(rest, b, 0.7).means[rows.task[n]]  # (C, K + 1)
        logits = 0.7 * w @ torch.cat([rows.x[n], torch.ones(1, dtype=torch.float64)])
        total += float(F.cross_entropy(logits[None], rows.y[n : n + 1]))
    assert left_out_loss(rows, b, 0.7) == pytest.approx(total, rel=0.05)
