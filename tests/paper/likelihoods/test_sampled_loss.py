"""The loss over draws of z and w against drawing all logits: values and gradients."""

from __future__ import annotations

import pytest
import torch

from helpers.class_labels import C, N, T, categorical, labels
from helpers.priors import assert_same, cpu_noise, random_gaussian
from vmtl.paper.distributions import Gaussian
from vmtl.paper.likelihoods import GaussianNoise, logit_draws
from vmtl.paper.logits import sample_logits

K = 5


def posteriors(outputs: int = C) -> tuple[Gaussian, Gaussian]:
    """q(z) and q(w), whose means and scales are leaves."""
    return random_gaussian(T, N, K, seed=0), random_gaussian(T, outputs, K + 1, seed=1)


@pytest.mark.parametrize("chunk", [1, 10**6])
@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize(("n_z", "n_w"), [(1, 1), (2, 1), (1, 2), (3, 3), (4, 2), (10, 10)])
def test_sampled_cross_entropy(n_z: int, n_w: int, hidden: bool, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logit_draws, "LOGITS_AT_ONCE", chunk)
    q_z, q_w = posteriors()
    likelihood, y = categorical(hidden), labels()
    fast = likelihood.nll_sampled(q_z, q_w, y, cpu_noise(), n_z, n_w)
    plain = likelihood.nll(sample_logits(q_z, q_w, cpu_noise(), n_z, n_w), y)
    assert_same(fast, plain, [q_z.mean, q_z.scale, q_w.mean, q_w.scale])


@pytest.mark.parametrize(("n_z", "n_w"), [(1, 1), (3, 2), (4, 4)])
def test_sampled_squared_error(n_z: int, n_w: int) -> None:
    q_z, q_w = posteriors(1)
    likelihood = GaussianNoise(T, shared=False).double()
    y = torch.linspace(-1, 1, T * N, dtype=torch.float64).view(T, N)
    fast = likelihood.nll_sampled(q_z, q_w, y, cpu_noise(), n_z, n_w)
    plain = likelihood.nll(sample_logits(q_z, q_w, cpu_noise(), n_z, n_w), y)
    assert_same(fast, plain, [q_z.mean, q_z.scale, q_w.mean, q_w.scale, likelihood.log_noise])
