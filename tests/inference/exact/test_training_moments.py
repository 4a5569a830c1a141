"""Moments of the training rows against a loop over them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.distributions import Categorical, Normal

from helpers.toys import SMALL, build, toy
from vmtl.data import task_blocks
from vmtl.inference.exact.training_moments import TrainingMoments, task_sum, training_loss
from vmtl.model.distributions import Delta
from vmtl.model.logits import logit_moments


@pytest.mark.parametrize("classes", [0, 3])
def test_moments_are_those_of_each_row_in_its_order(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_blocks, "BLOCK_ROWS", 7)
    rows = toy([12, 9, 10], classes=classes).rows()
    rows = rows.take(torch.randperm(31, generator=torch.Generator().manual_seed(0)))
    model = build("vmtl", rows, replace(SMALL, encoder="linear"))
    found = TrainingMoments.of(model, rows)
    with torch.no_grad():
        q_w, scale = model.q_w(), model.logit_scale
        for n in range(31):
            task = rows.task[n : n + 1]
            q_z = model.encoder(rows.x[n].view(1, 1, -1), task)
            moments = logit_moments(q_z, q_w.at(task))
            of_z = logit_moments(q_z, Delta(q_w.at(task).mean)).variance
            torch.testing.assert_close(found.mean[n], scale * moments.mean[0, 0], rtol=0, atol=1e-10)
            torch.testing.assert_close(found.variance[n], scale**2 * moments.variance[0, 0], rtol=0, atol=1e-10)
            torch.testing.assert_close(found.variance_of_z[n], scale**2 * of_z[0, 0], rtol=0, atol=1e-10)
    assert (found.variance_of_z < found.variance).all()


def test_the_training_loss_is_that_of_the_likelihood() -> None:
    weight = np.linspace(0.5, 2, 24)
    for classes in (0, 3):
        rows = toy([8, 9, 7], classes=classes).rows(weight=weight)
        model = build("vmtl", rows, replace(SMALL, encoder="linear"))
        moments = TrainingMoments.of(model, rows)
        found = training_loss(model, rows, moments)
        if classes:
            loss = -Categorical(logits=moments.mean).log_prob(rows.y)
        else:
            deviation = model.likelihood.scale().detach()[rows.task]
            loss = -Normal(moments.mean[:, 0], deviation).log_prob(rows.y) - 0.5 * np.log(2 * np.pi)
        expected = [float(rows.weight[rows.task == t] @ loss[rows.task == t]) for t in range(3)]
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_sums_of_tasks_are_weighted() -> None:
    rows = toy([2, 2]).rows(weight=np.array([1.0, 3.0, 2.0, 2.0]))
    assert task_sum(rows, torch.tensor([4.0, 8.0, 1.0, 3.0], dtype=torch.float64)).tolist() == [28.0, 8.0]
