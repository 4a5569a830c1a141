"""The tensor-normal prior of Long et al. against dense Kronecker products."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import invwishart, multivariate_normal

from vmtl.paper.distributions import Delta
from vmtl.paper.priors import Context
from vmtl.paper.priors.tensor_normal import TensorNormalW, negative_log_density, task_covariance
from vmtl.paper.settings import Settings

SHAPE = (3, 2, 4)


@pytest.fixture
def w() -> torch.Tensor:
    return torch.randn(SHAPE, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def nothing() -> Context:
    return None  # type: ignore[return-value]


def dense_cost(w: torch.Tensor, covariance: torch.Tensor) -> float:
    """Minus the log density of vec(W) under the covariance S x I x I, written out."""
    dense = np.kron(covariance, np.eye(8))
    return -float(multivariate_normal.logpdf(w.numpy().ravel(), np.zeros(24), dense))


def test_tensor_normal_density_is_a_dense_kronecker_gaussian(w: torch.Tensor) -> None:
    factor = torch.as_tensor(invwishart.rvs(5, np.eye(3), random_state=0))
    cost = negative_log_density(w, factor.inverse(), factor.logdet())
    assert float(cost) == pytest.approx(dense_cost(w, factor))


def test_the_update_maximises_the_density(w: torch.Tensor) -> None:
    best = task_covariance(w)
    other = torch.as_tensor(invwishart.rvs(5, np.eye(3), random_state=1))
    costs = [dense_cost(w, factor) for factor in (1.1 * best, 0.9 * best, other)]
    assert dense_cost(w, best) < min(costs)


def test_the_prior_learns_relations_and_shares_the_cost(w: torch.Tensor) -> None:
    prior = TensorNormalW(Settings(), torch.ones(3, 2, dtype=torch.bool), 4).double()
    start = prior.penalty(Delta(w), nothing())
    torch.testing.assert_close(start.sum(), 0.5 * (w.square().sum() + 24 * math.log(2 * math.pi)))
    torch.testing.assert_close(start, start[:1].expand(3))
    prior.update(Delta(w))
    raw = task_covariance(w)
    by_hand = (1 - prior.floor) * (raw / raw.diagonal().outer(raw.diagonal()).sqrt()) + prior.floor * torch.eye(3)
    torch.testing.assert_close(prior.covariance, by_hand)
    assert float(prior.penalty(Delta(w), nothing()).sum()) == pytest.approx(dense_cost(w, by_hand), rel=1e-6)


@pytest.mark.parametrize("size", [0.0, 1e-6, 1.0, 1e6])
def test_it_stays_stable_however_large_the_weights(size: float, w: torch.Tensor) -> None:
    prior = TensorNormalW(Settings(), torch.ones(3, 2, dtype=torch.bool), 4)
    low_rank = Delta(size * w[:1].expand(SHAPE).float())
    prior.update(low_rank)
    values = torch.linalg.eigvalsh(prior.covariance)
    assert float(values.min()) >= 0.99 * prior.floor
    assert float(values.sum()) <= 3 + 1e-4
    assert prior.penalty(low_rank, nothing()).isfinite().all()
