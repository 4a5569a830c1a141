"""The kernel as a function of relevance: what the feature map has, and its slopes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from vmtl.inference.features.candidate_kernels import CANDIDATES, candidates_for, centred_kernels
from vmtl.inference.features.kernel_map import KernelMap
from vmtl.inference.features.weighed_kernel import WeighedKernel

RNG = np.random.default_rng(0)
X = torch.as_tensor(RNG.normal(size=(14, 4)) * [1, 5, 0.2, 1] + 0.5)
P = torch.as_tensor(RNG.dirichlet(np.full(14, 5.0)))
SHARES = torch.as_tensor(RNG.dirichlet(np.full(len(CANDIDATES), 5.0)))
NUMBERS = candidates_for(4)


@pytest.mark.parametrize("standardise", [False, True])
def test_columns_that_count_alike_give_the_plain_mixture(standardise):
    kernel = WeighedKernel(X, P, standardise, NUMBERS)(SHARES, torch.ones(4))
    plain = torch.tensordot(SHARES, centred_kernels(X, P, standardise), 1)
    torch.testing.assert_close(kernel.double(), plain, atol=2e-5, rtol=0)


@pytest.mark.parametrize("standardise", [False, True])
def test_it_is_the_kernel_of_the_features_that_follow(standardise):
    """Inner products of all principal components of rows that are landmarks."""
    relevance = torch.tensor([0.3, 1.0, 2.0, 1.0], dtype=torch.float64)
    kernel = WeighedKernel(X, P, standardise, NUMBERS)(SHARES, relevance)
    learned = KernelMap.learn(X, P, SHARES, standardise=standardise, size_out=14, relevance=relevance)
    features = learned(X[None])[0]
    torch.testing.assert_close(kernel.double(), features @ features.T, atol=2e-5, rtol=0)


@pytest.mark.parametrize("v", NUMBERS, ids=lambda v: CANDIDATES[v].name)
def test_slopes_in_the_relevance_are_finite_differences(v):
    kernel, weights = WeighedKernel(X, P, True, [v]), torch.as_tensor(RNG.normal(size=(14, 14)))
    place = torch.tensor([0.1, -0.2, 0.3, 0.0], dtype=torch.float64)

    def value(log_relevance: torch.Tensor) -> torch.Tensor:
        return (weights * kernel(torch.ones(1), log_relevance.exp()).double()).sum()

    slope = torch.autograd.functional.jacobian(value, place)
    step = 0.01 * torch.eye(4, dtype=torch.float64)
    expected = torch.stack([(value(place + d) - value(place - d)) / 0.02 for d in step])
    torch.testing.assert_close(slope, expected, atol=0.02, rtol=0.02)


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e4])
def test_rows_that_are_all_alike_have_no_kernel(scale):
    """Rounding of their mean is not a difference between them."""
    x = torch.full((14, 4), scale / 3, dtype=torch.float64)
    kernel = WeighedKernel(x, P, False, NUMBERS)(SHARES, torch.tensor([0.3, 1.0, 2.0, 1.0]))
    assert kernel.count_nonzero() == 0
