"""Sums over draws of logits, and pieces of tasks."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from helpers.priors import cpu_noise, random_gaussian
from vmtl._utils.noise import antithetic
from vmtl.paper.likelihoods import logit_draws
from vmtl.paper.likelihoods.logit_draws import loss_over_draws, task_chunks


class Cubic:
    """sum_c (logit_c - y)^3 / 3: not symmetric, so that a wrong sign of the noise shows."""

    def value_and_gradient(self, logits: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        error = logits - y[..., None]
        return (error**3).sum((0, -1)) / 3, error**2


@pytest.mark.parametrize("chunk", [1, 10**6])
@pytest.mark.parametrize("draws", [1, 2, 5])
def test_value_and_gradients_by_autograd(draws: int, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logit_draws, "LOGITS_AT_ONCE", chunk)
    given = random_gaussian(2, 3, 5, 4)  # T, P, N, C
    y = torch.linspace(-1, 1, 10, dtype=torch.float64).view(2, 5)
    half = cpu_noise().halves(draws, 2, 1, 5, 4)
    value, d_mean, d_std = loss_over_draws(Cubic(), given.mean.detach(), given.scale.detach(), half, draws, y)
    logits = given.mean + given.scale * antithetic(half, draws)
    expected = ((logits - y[:, None, :, None]) ** 3).sum((0, -1)) / 3
    torch.testing.assert_close(value, expected)
    gradients = torch.autograd.grad(expected.sum(), [given.mean, given.scale])
    torch.testing.assert_close((d_mean, d_std), gradients)


@pytest.mark.parametrize(("n_tasks", "numbers"), [(1, 1), (7, 10**9), (7, 100_000), (1000, 0)])
def test_chunks_cover_every_task_once(n_tasks: int, numbers: int) -> None:
    chunks = task_chunks(n_tasks, numbers)
    assert [t for chunk in chunks for t in range(n_tasks)[chunk]] == list(range(n_tasks))
    assert all(len(range(n_tasks)[chunk]) * numbers <= max(logit_draws.LOGITS_AT_ONCE, numbers) for chunk in chunks)
