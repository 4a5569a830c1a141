"""The structure of the tasks: the exact conditional, opting out, and known groups of tasks."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from helpers.toys import toy
from vmtl import MultiTaskClassifier
from vmtl.datasets import make_task_groups
from vmtl.inference.exact import task_structure
from vmtl.inference.exact.kernel_selection import ASSUMED
from vmtl.inference.exact.task_similarity import uniform_similarity
from vmtl.inference.exact.task_structure import infer_structure, structure_of


@pytest.mark.parametrize("n_tasks", [2, 3, 7])
def test_tasks_all_alike_have_the_conditional_of_the_exact_model(n_tasks):
    rho = 0.8
    structure = structure_of(uniform_similarity(n_tasks), rho)
    b = (1 - rho) * torch.eye(n_tasks, dtype=torch.float64) + rho
    torch.testing.assert_close(structure.covariance, b)
    precision = torch.linalg.inv(b)
    torch.testing.assert_close(structure.variance, 1 / precision.diagonal())
    weights = -(precision / precision.diagonal()[:, None])
    weights.fill_diagonal_(0)
    torch.testing.assert_close(structure.sharing[:, None] * structure.alpha, weights)


def test_one_task_alone_shares_nothing():
    structure = structure_of(uniform_similarity(1), 0.9)
    assert (structure.alpha == 0).all()
    assert structure.sharing.tolist() == [0.0]
    assert structure.variance.tolist() == [1.0]


def test_a_task_unlike_all_others_opts_out_and_is_not_asked():
    s = uniform_similarity(5)
    s[4, :4] = s[:4, 4] = -0.5
    structure = structure_of(s, 0.9)
    assert structure.sharing[4] < 0.01
    assert structure.variance[4] > 0.99
    assert structure.alpha[:4, 4].max() < 1e-3
    assert structure.sharing[:4].min() > 0.8
    assert torch.linalg.eigvalsh(structure_of(s.clamp_min(0), 0.9).covariance).min() > 0


def test_structure_permutes_with_the_tasks():
    s = torch.rand(4, 4, dtype=torch.float64)
    s = (s + s.T) / 2
    s.fill_diagonal_(1)
    order = torch.tensor([2, 0, 3, 1])
    one, other = structure_of(s, 0.7), structure_of(s[order][:, order], 0.7)
    torch.testing.assert_close(other.alpha, one.alpha[order][:, order])
    torch.testing.assert_close(other.sharing, one.sharing[order])


def test_groups_are_found_and_the_adversary_is_ignored():
    """Two groups of five, one unrelated task and one with flipped labels; three draws."""
    inside, received = [], []
    for seed in range(3):
        drawn = make_task_groups(seed)
        problem, train, group = drawn.problem, drawn.split.train, drawn.group
        model = MultiTaskClassifier(max_steps=30, random_state=0)
        model.fit(problem.X[train], problem.y[train], tasks=problem.tasks[train])
        names = list(problem.task_names)
        alpha = model.alpha_.loc[names, names].to_numpy()
        grouped = np.flatnonzero((group == 0) | (group == 1))
        inside += [alpha[t, group == group[t]].sum() for t in grouped]
        assert (model.sharing_.index == model.alpha_.index).all()
        assert model.sharing_.between(0, 1).all()
        received.append(alpha[group != -1][:, group == -1].mean())
    assert np.mean(inside) > 0.85
    assert np.mean(received) < 0.08


def test_tasks_that_share_nothing_are_independent_whatever_their_correlation():
    structure = structure_of(torch.eye(4, dtype=torch.float64), 0.9)
    assert torch.equal(structure.covariance, torch.eye(4, dtype=torch.float64))
    assert structure.sharing.tolist() == [0.0] * 4
    assert structure.variance.tolist() == [1.0] * 4


def test_a_regression_keeps_the_scale_and_the_correlation_of_the_kernel():
    prior = infer_structure(toy([8, 9, 7]).rows(), ASSUMED, "uniform", 0)
    assert (prior.correlation, prior.scale) == (ASSUMED.correlation, ASSUMED.scale)
    torch.testing.assert_close(prior.structure.covariance, structure_of(uniform_similarity(3), 0.9).covariance)


def test_a_classifier_chooses_them_again(monkeypatch):
    monkeypatch.setattr(task_structure, "choose_strength", lambda rows, kernel, covariance, seed: (0.5, 2.0))
    prior = infer_structure(toy([8, 9, 7], classes=2).rows(), ASSUMED, "uniform", 0)
    assert (prior.correlation, prior.scale) == (0.5, 2.0)
    torch.testing.assert_close(prior.structure.covariance, structure_of(uniform_similarity(3), 0.5).covariance)
