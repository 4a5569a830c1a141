"""Synthetic worlds of many tasks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.relatedness.many_tasks import COLUMNS, GROUPS, TEST_ROWS, TRAIN_ROWS, WORLDS, World, compare


def test_groups_lie_apart_by_their_shift() -> None:
    near, far = (World("", 50, 0.9, 0.2, shift).draw(0)[0] for shift in (0.0, 3.0))
    means = [x.reshape(50, -1, COLUMNS).mean(1) for x in (near, far)]  # (T, D)
    apart = [np.linalg.norm(mean[0] - mean[1]) - np.linalg.norm(mean[0] - mean[GROUPS]) for mean in means]
    assert apart[1] > apart[0] + 3


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_weights_have_one_variance_however_they_are_made(world: World) -> None:
    """Then labels are as hard in every world: about as many of both classes, and the same spread of their logits."""
    x, y, task = replace(world, tasks=100).draw(1)
    assert len(x) == len(y) == len(task) == 100 * (TRAIN_ROWS + TEST_ROWS)
    assert 0.4 < y.mean() < 0.6


def test_a_world_is_scored_with_even_and_with_inferred_weights() -> None:
    auc, nll, our_auc, our_nll, axes = compare(World("", 12, 0.9, 0.2, 2.0), 0)
    assert 0.5 < auc < 1
    assert 0.5 < our_auc < 1
    assert 0 < our_nll < 1
    assert 0 < nll < 1
    assert axes >= 1
