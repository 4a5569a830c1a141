"""Candidate kernels: their formulas, distances of views, and centring."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, rbf_kernel
from sklearn.preprocessing import KernelCenterer

from vmtl.inference.features.candidate_kernels import CANDIDATES, centre, centred_kernels, evaluate_kernels
from vmtl.inference.features.views import VIEWS, Views

RNG = np.random.default_rng(0)
X = torch.as_tensor(np.abs(RNG.normal(size=(12, 5))) * [1, 2, 3, 50, 0.1] - 0.3)


@pytest.mark.parametrize("v", range(len(CANDIDATES)), ids=lambda v: CANDIDATES[v].name)
def test_each_candidate_is_the_kernel_of_scikit_learn_on_its_view(v):
    view, kind, width = CANDIDATES[v]
    views = Views.learn(X, torch.full((12,), 1 / 12, dtype=torch.float64), False)
    u, z = (views(VIEWS.index(view), part[None]) for part in (X[:5], X))
    (kernel,) = evaluate_kernels(lambda number: (u, z[0]), [v])
    if kind == "linear":
        expected = linear_kernel(u[0], z[0])
    elif kind == "gauss":
        expected = rbf_kernel(u[0], z[0], gamma=1 / (2 * width))
    else:  # of the Euclidean distance: a Laplacian of one column of distances
        distance = torch.cdist(u[0], z[0]).reshape(-1, 1)
        expected = laplacian_kernel(distance, [[0.0]], gamma=1 / (2**0.5 * width)).reshape(5, 12)
    np.testing.assert_allclose(kernel[0], expected, atol=1e-12)


def test_centring_is_that_of_scikit_learn_and_weights_repeat_rows():
    kernel = X @ X.T
    uniform = torch.full((12,), 1 / 12, dtype=torch.float64)
    np.testing.assert_allclose(centre(kernel, uniform), KernelCenterer().fit_transform(kernel.numpy()), atol=1e-9)
    twice = torch.cat([X, X[:1]])
    weight = torch.tensor([2.0] + [1.0] * 11, dtype=torch.float64) / 13
    repeated = centre(twice @ twice.T, torch.full((13,), 1 / 13, dtype=torch.float64))
    torch.testing.assert_close(centre(kernel, weight), repeated[:12, :12])


@pytest.mark.parametrize("standardise", [False, True])
def test_centred_kernels_have_mean_diagonal_one(standardise):
    kernels = centred_kernels(X, torch.ones(12), standardise)
    assert kernels.shape == (len(CANDIDATES), 12, 12)
    torch.testing.assert_close(kernels.diagonal(dim1=1, dim2=2).mean(1), torch.ones(len(CANDIDATES)).double())
    torch.testing.assert_close(kernels.sum(-1), torch.zeros(len(CANDIDATES), 12).double(), atol=1e-9, rtol=0)


def test_names_are_unique_and_say_view_kind_and_width():
    names = [candidate.name for candidate in CANDIDATES]
    assert len(set(names)) == len(names)
    assert {"linear(raw)", "gauss(raw, 0.5)", "laplace(standard, 2)"} <= set(names)
