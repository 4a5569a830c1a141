"""Synthetic task groups: the relations that the docstring states are the ones in the data."""

from __future__ import annotations

import numpy as np
import pytest

from vmtl.datasets import make_task_groups


def test_the_default_has_two_groups_one_apart_and_one_against() -> None:
    tasks = make_task_groups(0)
    assert tasks.group.tolist() == [0] * 5 + [1] * 5 + [-1, -2]
    assert tasks.problem.X.shape[1] == 20
    assert tasks.problem.n_classes == 4
    assert tasks.problem.task_names[-2:] == ("unrelated_1", "adversarial_1")
    rows = np.bincount(tasks.problem.task[tasks.split.train])
    assert rows.min() >= 8
    assert rows.max() <= 40
    assert np.bincount(tasks.problem.task[tasks.split.test]).tolist() == [200] * 12


def test_weights_correlate_within_groups_only() -> None:
    draws = [make_task_groups(seed, n_test=1).weights.reshape(12, -1) for seed in range(20)]
    mean = np.mean([np.corrcoef(draw) for draw in draws], axis=0)
    assert np.allclose(mean[0, 1:5], 0.9, atol=0.03)
    assert np.allclose(mean[5, 6:10], 0.9, atol=0.03)
    assert np.abs(mean[0, 5:11]).max() < 0.1


def test_the_adversary_flips_the_labels_of_the_first_group() -> None:
    tasks = make_task_groups(3, n_rows=(200, 200), label_noise=0)
    rows = tasks.split.test[tasks.problem.task[tasks.split.test] == 11]
    as_group = (tasks.problem.X[rows] @ tasks.weights[0].T).argmax(axis=1)
    assert np.mean(3 - as_group == tasks.problem.y[rows]) > 0.6
    assert np.mean(as_group == tasks.problem.y[rows]) < 0.25


def test_noise_touches_training_labels_only() -> None:
    tasks = make_task_groups(1, n_rows=(400, 400))
    X, y, task = tasks.problem.X.astype(float), tasks.problem.y, tasks.problem.task
    true = np.array([(tasks.weights[t] @ x).argmax() for x, t in zip(X, task, strict=True)])
    assert np.mean(true[tasks.split.test] == y[tasks.split.test]) > 0.999
    assert 0.93 < np.mean(true[tasks.split.train] == y[tasks.split.train]) < 0.97


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="correlation"):
        make_task_groups(correlation=2)
