"""Kernel features: exact in the weights, and kernel PCA as scikit-learn has it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.decomposition import KernelPCA

from vmtl.inference.features.candidate_kernels import CANDIDATES, centred_kernels
from vmtl.inference.features.kernel_map import LEAST_SHARE, KernelMap

RNG = np.random.default_rng(0)
X = torch.as_tensor(np.abs(RNG.normal(size=(12, 5))) * [1, 2, 3, 50, 0.1] - 0.3)
#: Of the candidates, every other one more.
SHARES = torch.linspace(1, 2, len(CANDIDATES), dtype=torch.float64)
SHARES = SHARES / SHARES.sum()


def only(view: str, kind: str) -> torch.Tensor:
    return torch.tensor([float((v, k) == (view, kind)) for v, k, _ in CANDIDATES], dtype=torch.float64)


@pytest.mark.parametrize("standardise", [False, True])
def test_a_row_of_weight_two_is_the_row_twice(standardise):
    twice = torch.cat([X, X[:3]])
    weight = torch.ones(12, dtype=torch.float64)
    weight[:3] = 2
    weighted = KernelMap.learn(X, weight, SHARES, standardise=standardise, size_out=8)
    repeated = KernelMap.learn(twice, torch.ones(15), SHARES, standardise=standardise, size_out=8)
    new = torch.as_tensor(RNG.normal(size=(1, 7, 5)))
    torch.testing.assert_close(weighted(new), repeated(new), atol=1e-8, rtol=1e-6)


def test_features_are_centred_with_unit_mean_squared_norm_and_reproduce_the_kernel():
    kernel = torch.tensordot(SHARES, centred_kernels(X, torch.ones(12), False), 1)
    h = KernelMap.learn(X, torch.ones(12), SHARES, standardise=False, size_out=12)(X[None])[0]
    torch.testing.assert_close(h.mean(0), torch.zeros(12, dtype=torch.float64), atol=1e-9, rtol=0)
    assert h.square().sum(-1).mean() == pytest.approx(1, rel=1e-6)
    torch.testing.assert_close(h @ h.T, kernel, atol=1e-6, rtol=1e-6)


def test_one_kernel_is_scikit_learns_kernel_pca():
    kernel_map = KernelMap.learn(X, torch.ones(12), only("raw", "gauss"), standardise=False, size_out=4)
    centred = (X - X.mean(0)) / (X - X.mean(0)).square().sum(-1).mean().sqrt()
    widths = [w for v, k, w in CANDIDATES if (v, k) == ("raw", "gauss")]
    new = 0.6 * (X[:6] + X[6:])
    new_centred = (new - X.mean(0)) / (X - X.mean(0)).square().sum(-1).mean().sqrt()

    def kernel(a, b):
        parts = []
        for width in widths:
            k = torch.exp(-torch.cdist(a, b).square() / (2 * width))
            inner = torch.exp(-torch.cdist(centred, centred).square() / (2 * width))
            diagonal = (inner.diagonal() - inner.mean(0) * 2 + inner.mean()).mean()
            parts.append(k / diagonal / len(widths))
        return sum(parts).numpy()

    reference = KernelPCA(4, kernel="precomputed").fit(kernel(centred, centred))
    expected = reference.transform(kernel(new_centred, centred))
    transformed = kernel_map(new[None])[0].numpy()
    np.testing.assert_allclose(np.abs(transformed), np.abs(expected), atol=1e-7)


def test_stacked_maps_are_the_maps_one_by_one():
    first = KernelMap.learn(X[:5], torch.ones(5), SHARES, standardise=True, size_out=6)
    second = KernelMap.learn(X[5:], torch.ones(7), SHARES, standardise=True, size_out=6)
    both = KernelMap.stack([first, second])
    x = torch.as_tensor(RNG.normal(size=(3, 4, 5)))
    features = both(x, torch.tensor([1, 0, 1]))
    torch.testing.assert_close(features[0, :, :6], second(x[:1])[0])
    torch.testing.assert_close(features[1, :, :5], first(x[1:2])[0])
    assert (features[1, :, 5:] == 0).all()


def test_the_shares_can_be_read_off_a_learned_map():
    shares = torch.where(torch.arange(len(CANDIDATES)) % 3 == 0, SHARES, 0.0)
    shares[1] = 0.1 * LEAST_SHARE  # too small to be kept
    kernel_map = KernelMap.learn(X, torch.linspace(1, 2, 12), shares, standardise=True, size_out=4)
    expected = torch.where(shares > LEAST_SHARE, shares, 0.0)
    torch.testing.assert_close(kernel_map.kernel_shares(), expected / expected.sum())
    small = KernelMap.learn(X[:7], torch.ones(7), shares, standardise=False, size_out=4)
    stacked = KernelMap.stack([small, kernel_map]).float()
    torch.testing.assert_close(stacked.kernel_shares(), expected / expected.sum(), atol=1e-5, rtol=1e-4)


def test_a_column_that_never_varies_leaves_nothing_behind():
    """Every kernel is constant on rows that are all alike, and features are 0."""
    kernel_map = KernelMap.learn(torch.ones(5, 3), torch.ones(5), SHARES, standardise=True, size_out=4)
    assert (kernel_map(torch.randn(1, 2, 3).double()) == 0).all()
    assert (kernel_map.kernel_shares() == 0).all()
