"""The scale of a classifier, where the truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from helpers.toys import toy
from vmtl.data.rows import Rows
from vmtl.inference.exact.kernel_selection import ASSUMED
from vmtl.inference.exact.leave_one_out import SCALE_RANGE
from vmtl.inference.exact.posterior import solve_classifier
from vmtl.inference.exact.strength import LOG_SCALE, choose_scale, left_out_loss
from vmtl.inference.exact.task_structure import exchangeable


def noisy_classes(signal: float, correlation: float, seed: int = 0) -> Rows:
    """Ten tasks of two classes whose weights correlate; labels follow logits of size ``signal``."""
    rng = np.random.default_rng(seed)
    x, task = rng.normal(size=(200, 4)) / 2, np.repeat(np.arange(10), 20)
    w = correlation**0.5 * rng.normal(size=4) + (1 - correlation) ** 0.5 * rng.normal(size=(10, 4))
    y = (signal * (x * w[task]).sum(1) + rng.logistic(size=200) > 0).astype(int)
    return Rows(*(torch.as_tensor(v) for v in (x, y, task, np.ones(200))), 10, 2, True)


def chosen(rows: Rows, correlation: float, start: float = 4.0) -> float:
    covariance = exchangeable(rows.n_tasks, correlation).covariance
    return choose_scale(rows, replace(ASSUMED, scale=start), covariance, 0)


def test_the_scale_follows_the_signal():
    faint, clear = (np.mean([chosen(noisy_classes(s, 0.95, k), 0.95) for k in range(2)]) for s in (0.5, 20))
    assert 4 * faint < clear


def test_the_search_goes_down_to_the_best_place():
    rows, b = noisy_classes(0.5, 0.5), exchangeable(10, 0.5).covariance

    def loss(scale: float) -> float:
        return left_out_loss(rows, b, scale) + 0.5 * ((np.log(scale) - LOG_SCALE[0]) / LOG_SCALE[1]) ** 2

    assert loss(chosen(rows, 0.5)) < loss(4.0)
    near = chosen(rows, 0.5, start=0.4)  # near its best place the search ends there
    assert loss(near) <= min(loss(near * 2**0.5), loss(near / 2**0.5)) + 1e-9


def test_the_scale_stays_in_its_range():
    assert chosen(noisy_classes(50.0, 0.95), 0.95, start=SCALE_RANGE[1]) <= SCALE_RANGE[1]
    assert chosen(noisy_classes(0.0, 0.0), 0.0, start=SCALE_RANGE[0]) >= SCALE_RANGE[0]


def test_the_loss_of_left_out_rows_is_close_to_refitting():
    rows = toy([8, 7], classes=2, spread=2.0).rows()
    b = exchangeable(2, 0.8).covariance
    total = 0.0
    for n in range(15):
        rest = rows.take(torch.tensor([m for m in range(15) if m != n]))
        w = solve_classifier(rest, b, 0.7).means[rows.task[n]]  # (C, K + 1)
        logits = 0.7 * w @ torch.cat([rows.x[n], torch.ones(1, dtype=torch.float64)])
        total += float(F.cross_entropy(logits[None], rows.y[n : n + 1]))
    assert left_out_loss(rows, b, 0.7) == pytest.approx(total, rel=0.05)
