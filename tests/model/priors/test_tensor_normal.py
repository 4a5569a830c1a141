"""The tensor-normal prior of Long et al. against dense Kronecker products."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import invwishart, multivariate_normal

from vmtl.model.distributions import Delta
from vmtl.model.priors import Context, PriorSettings
from vmtl.model.priors.tensor_normal import TensorNormalW, negative_log_density, unfold_covariance

SHAPE = (3, 2, 4)


@pytest.fixture
def factors() -> list[torch.Tensor]:
    found = [invwishart.rvs(size + 2, np.eye(size), random_state=size) for size in SHAPE]
    return [torch.as_tensor(factor, dtype=torch.float64) for factor in found]


@pytest.fixture
def w() -> torch.Tensor:
    return torch.randn(SHAPE, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def nothing() -> Context:
    return None  # type: ignore[return-value]


def test_tensor_normal_density_is_a_dense_kronecker_gaussian(w: torch.Tensor, factors: list[torch.Tensor]) -> None:
    inverses = tuple(factor.inverse() for factor in factors)
    log_dets = torch.stack([factor.logdet() for factor in factors])
    dense = np.kron(np.kron(factors[0], factors[1]), factors[2])
    expected = -multivariate_normal.logpdf(w.numpy().ravel(), np.zeros(24), dense)
    assert float(negative_log_density(w, inverses, log_dets)) == pytest.approx(expected)  # type: ignore[arg-type]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_flip_flop_step_maximises_the_density_in_its_factor(
    axis: int, w: torch.Tensor, factors: list[torch.Tensor]
) -> None:
    inverses = tuple(factor.inverse() for factor in factors)
    found = unfold_covariance(w, axis, inverses)  # type: ignore[arg-type]
    unfolded = w.movedim(axis, 0).flatten(1)
    rest = [factors[other] for other in range(3) if other != axis]
    expected = unfolded @ torch.kron(rest[0], rest[1]).inverse() @ unfolded.T / unfolded.shape[1]
    torch.testing.assert_close(found, expected)

    def cost(factor: torch.Tensor) -> float:
        trial = list(factors)
        trial[axis] = factor
        log_dets = torch.stack([f.logdet() for f in trial])
        return float(negative_log_density(w, tuple(f.inverse() for f in trial), log_dets))  # type: ignore[arg-type]

    assert cost(found) < min(cost(1.1 * found), cost(0.9 * found), cost(factors[axis]))


def test_the_prior_uses_its_own_factors_and_shares_the_cost(w: torch.Tensor) -> None:
    prior = TensorNormalW(PriorSettings(), torch.ones(3, 2, dtype=torch.bool), 4).double()
    start = prior.penalty(Delta(w), nothing())
    torch.testing.assert_close(start.sum(), 0.5 * (w.square().sum() + 24 * math.log(2 * math.pi)))
    torch.testing.assert_close(start, start[:1].expand(3))
    prior.update(Delta(w))
    factors = [prior.get_buffer(f"covariance_{axis}") for axis in range(3)]
    dense = np.kron(np.kron(factors[0], factors[1]), factors[2])
    expected = -multivariate_normal.logpdf(w.numpy().ravel(), np.zeros(24), dense)
    assert float(prior.penalty(Delta(w), nothing()).sum()) == pytest.approx(expected, rel=1e-6)
    for axis, factor in enumerate(factors):
        values = torch.linalg.eigvalsh(factor)
        assert float(factor.trace()) <= SHAPE[axis] * (1 + prior.floor) + 1e-6
        assert float(values.min()) >= 0.999 * prior.floor


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_factors_stay_stable_however_large_the_weights(size: float, w: torch.Tensor) -> None:
    prior = TensorNormalW(PriorSettings(), torch.ones(3, 2, dtype=torch.bool), 4)
    low_rank = Delta(size * w[..., :1].expand(SHAPE).float())
    for _ in range(50):
        prior.update(low_rank)
    for axis in range(3):
        values = torch.linalg.eigvalsh(prior.get_buffer(f"covariance_{axis}"))
        assert float(values.sum()) <= SHAPE[axis] * (1 + prior.floor) + 1e-4
        assert float(values.min()) >= 0.999 * prior.floor
    assert prior.penalty(low_rank, nothing()).isfinite().all()
