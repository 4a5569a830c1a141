"""Every fast path of training and prediction against the plain formula: values and gradients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from helpers.toys import SMALL, build, toy
from vmtl._utils.noise import Noise, antithetic
from vmtl.inference.prediction import Predictor
from vmtl.model import expected_loss
from vmtl.model.attention import Attention
from vmtl.model.distributions import Gaussian
from vmtl.model.heads import Moments, sample_logits
from vmtl.model.likelihoods import Categorical, GaussianNoise
from vmtl.model.likelihoods.categorical import log_softmax_

T, N, C, K = 3, 7, 4, 5
CPU = torch.device("cpu")
PROBLEMS = {
    "complete": toy([6, 9, 8], classes=3),
    "missing": toy([6, 9, 8], classes=3, missing=[(1, 0)]),
    "alone": toy([6, 9, 8], classes=3, missing=[(1, 0), (2, 0)]),
    "regression": toy([6, 9, 8]),
}


def noise(seed: int = 0) -> Noise:
    return Noise(seed, CPU, torch.float64)


def leaf(generator: torch.Generator, *shape: int, positive: bool = False) -> Tensor:
    value = torch.randn(shape, generator=generator, dtype=torch.float64)
    return (value.abs() * 0.5 + 0.1 if positive else value).requires_grad_()


def posteriors(outputs: int = C) -> tuple[Gaussian, Gaussian, list[Tensor]]:
    """q(z), q(w) and their four parameters."""
    generator = torch.Generator().manual_seed(0)
    z, w = (T, N, K), (T, outputs, K + 1)
    leaves = [leaf(generator, *s, positive=p) for s in (z, w) for p in (False, True)]
    return Gaussian(leaves[0], leaves[1]), Gaussian(leaves[2], leaves[3]), leaves


def assert_same(fast: Tensor, plain: Tensor, leaves: list[Tensor]) -> None:
    """The same value, and the same gradients of an arbitrary weighting of it."""
    torch.testing.assert_close(fast, plain, atol=1e-10, rtol=1e-9)
    weight = torch.linspace(0.5, 2, fast.numel(), dtype=fast.dtype).view_as(fast)
    found = torch.autograd.grad((weight * fast).sum(), leaves, allow_unused=True, retain_graph=True)
    expected = torch.autograd.grad((weight * plain).sum(), leaves, allow_unused=True)
    for one, two in zip(found, expected, strict=True):
        assert (one is None) == (two is None)
        if one is not None and two is not None:
            torch.testing.assert_close(one, two, atol=1e-9, rtol=1e-8)


def categorical(hidden: bool) -> Categorical:
    mask = torch.ones(T, C, dtype=torch.bool)
    if hidden:
        mask[1, 0] = mask[2, 3] = False
    return Categorical(mask)


def labels() -> Tensor:
    return 1 + torch.arange(T * N).view(T, N) % 2  # classes that every task sees


@pytest.mark.parametrize("chunk", [1, 10**6])
@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize(("n_z", "n_w"), [(1, 1), (2, 1), (1, 2), (3, 3), (4, 2), (10, 10)])
def test_sampled_cross_entropy(n_z: int, n_w: int, hidden: bool, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expected_loss, "CHUNK", chunk)
    q_z, q_w, leaves = posteriors()
    likelihood, y = categorical(hidden), labels()
    fast = likelihood.nll_sampled(q_z, q_w, y, noise(), n_z, n_w)
    plain = likelihood.nll(sample_logits(q_z, q_w, noise(), n_z, n_w), y)
    assert_same(fast, plain, leaves)


@pytest.mark.parametrize(("n_z", "n_w"), [(1, 1), (3, 2), (4, 4)])
def test_sampled_squared_error(n_z: int, n_w: int) -> None:
    q_z, q_w, leaves = posteriors(1)
    likelihood = GaussianNoise(T, shared=False).double()
    y = torch.linspace(-1, 1, T * N, dtype=torch.float64).view(T, N)
    fast = likelihood.nll_sampled(q_z, q_w, y, noise(), n_z, n_w)
    plain = likelihood.nll(sample_logits(q_z, q_w, noise(), n_z, n_w), y)
    assert_same(fast, plain, [*leaves, likelihood.log_noise])


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("draws", [1, 2, 5, 10])
def test_cross_entropy_of_moments(draws: int, hidden: bool) -> None:
    generator = torch.Generator().manual_seed(1)
    leaves = [leaf(generator, T, N, C), leaf(generator, T, N, C, positive=True)]
    likelihood, y = categorical(hidden), labels()
    fast = likelihood.nll_moments(Moments(*leaves), y, noise(), draws)
    eps = antithetic(noise().halves(draws, T, N, C), draws)
    plain = likelihood.nll(torch.addcmul(leaves[0], leaves[1].sqrt(), eps), y)
    assert_same(fast, plain, leaves)


@pytest.mark.parametrize("classes", [1, 2, 15, 16, 17, 65, 345])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_log_softmax_in_place(classes: int, dtype: torch.dtype) -> None:
    logits = 50 * torch.randn(30, classes, generator=torch.Generator().manual_seed(0), dtype=dtype)
    expected = logits.log_softmax(-1)
    torch.testing.assert_close(log_softmax_(logits), expected)


def test_partners_have_opposite_noise_of_z_and_w() -> None:
    """Averaged over four partners, logits lose everything odd in the noise: a linear readout is exact."""
    q_z, q_w, _ = posteriors()
    draws = sample_logits(q_z, q_w, noise(), 2, 2)
    torch.testing.assert_close(
        draws.mean(0), sample_logits(q_z, Gaussian(q_w.mean, q_w.scale * 0), noise(), 2, 1).mean(0)
    )


@pytest.mark.parametrize("kind", PROBLEMS)
def test_attention_of_some_rows_to_some_tasks(kind: str) -> None:
    rows = PROBLEMS[kind].rows()
    attention = Attention(rows)
    everything = attention.mix(rows.x, torch.arange(len(rows.y)))
    index = torch.tensor([5, 0, 20, 5])
    tasks = torch.tensor([[1, 2], [2, 1], [0, 1], [1, 1]])
    torch.testing.assert_close(attention.mix(rows.x, index, tasks), everything[index[:, None], tasks])


@pytest.mark.parametrize("dropout", [1e-9, 0.1, 0.7, 0.999])
def test_dropout_has_mean_one(dropout: float) -> None:
    mask = noise().keep((250, 2001), dropout)
    kept = mask > 0
    share = float(kept.double().mean())
    assert float(mask.max()) == pytest.approx(1 / (1 - dropout), rel=0.01)
    assert share == pytest.approx(1 - dropout, abs=4 * np.sqrt((1 - dropout) * dropout / mask.numel()) + 2**-15)
    assert kept.double().mean(0).std() == pytest.approx(np.sqrt((1 - dropout) * dropout / 250), rel=0.1, abs=2e-3)


@pytest.mark.parametrize("mode", ["monte-carlo", "moment", "mean"])
def test_probabilities_alone_are_those_beside_the_uncertainty(mode: str) -> None:
    problem = PROBLEMS["missing"]
    rows = problem.rows()
    model = build("vmtl", rows, replace(SMALL, encoder="mlp"))
    predictor = Predictor(torch.nn.Identity(), model, mode, 0)  # type: ignore[arg-type]
    predictor.feature_map = lambda x, task: x  # type: ignore[assignment, misc]
    found = predictor.probabilities(problem.X, problem.task).probabilities
    assert np.array_equal(found, predictor.classes(problem.X, problem.task).probabilities)
