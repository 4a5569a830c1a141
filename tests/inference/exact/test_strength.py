"""The scale of a classifier and how much tasks share, where the truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from vmtl.inference.exact.strength import (
    KEPT,
    choose_regression_strength,
    choose_strength,
    left_out_loss,
    weaken,
)

from helpers.toys import toy
from vmtl.data.rows import Rows
from vmtl.inference.exact.kernel_selection import ASSUMED
from vmtl.inference.exact.leave_one_out import SCALE_RANGE
from vmtl.inference.exact.posterior import solve_classifier
from vmtl.inference.exact.structure_evidence import Targets
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
    return choose_strength(rows, replace(ASSUMED, scale=start), covariance, 0)[1]


def test_the_scale_follows_the_signal():
    faint, clear = (np.mean([chosen(noisy_classes(s, 0.95, k), 0.95) for k in range(2)]) for s in (0.5, 20))
    assert 4 * faint < clear


def test_the_search_goes_down():
    rows, b = noisy_classes(0.5, 0.5), exchangeable(10, 0.95).covariance
    kept, scale = choose_strength(rows, replace(ASSUMED, scale=4.0), b, 0)
    assert left_out_loss(rows, weaken(b, kept), scale) < left_out_loss(rows, b, 4.0)


def test_what_is_kept_follows_how_much_tasks_share():
    b = exchangeable(10, 0.97).covariance
    alike, apart = (
        [choose_strength(noisy_classes(20.0, rho, k), replace(ASSUMED, scale=4.0), b, 0)[0] for k in range(2)]
        for rho in (0.99, 0.1)
    )
    assert min(alike) > max(apart)
    assert set(alike + apart) <= set(KEPT)


def test_tasks_that_share_nothing_have_nothing_to_weaken():
    eye = torch.eye(10, dtype=torch.float64)
    assert choose_strength(noisy_classes(5.0, 0.0), ASSUMED, eye, 0)[0] == 1.0
    torch.testing.assert_close(weaken(eye, 0.3), eye)


def regression(correlation: float, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    x, task = rng.normal(size=(150, 3)), np.repeat(np.arange(10), 15)
    w = correlation**0.5 * rng.normal(size=3) + (1 - correlation) ** 0.5 * rng.normal(size=(10, 3))
    y = (x * w[task]).sum(1) + 0.3 * rng.normal(size=150)
    return Rows(*(torch.as_tensor(v) for v in (x, y, task, np.ones(150))), 10, 1, False)


def test_a_regression_keeps_what_left_out_targets_speak_for():
    """Against leaving every row out and solving again."""
    rows, b, ridge = regression(0.5, 0), exchangeable(10, 0.97).covariance, 0.1
    targets = Targets.of(rows)

    def error(kept: float) -> float:
        matrix, y = targets.covariance(weaken(b, kept), torch.tensor(ridge)), targets.outputs[:, 0]
        total = 0.0
        for n in range(len(y)):
            rest = torch.arange(len(y)) != n
            mean = matrix[n, rest] @ torch.linalg.solve(matrix[rest][:, rest], y[rest])
            total += float((y[n] - mean).square())
        return total

    kept = choose_regression_strength(targets, b, ridge)
    assert kept < 1
    assert error(kept) < error(1.0)
    shared = [choose_regression_strength(Targets.of(regression(0.99, k)), b, ridge) for k in range(3)]
    assert np.mean(shared) > kept


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
