"""Views and kernel features: exact in the weights, normalised, and kernel PCA as scikit-learn has it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import rankdata
from sklearn.decomposition import KernelPCA

from helpers.toys import toy
from vmtl.inference.exact.selection import CLASSES
from vmtl.inference.features.feature_map import ScaledMap
from vmtl.inference.features.kernel_map import CANDIDATES, KernelMap
from vmtl.inference.features.maps import apply_map, from_tensors
from vmtl.inference.features.views import VIEWS, Views

RNG = np.random.default_rng(0)
X = torch.as_tensor(np.abs(RNG.normal(size=(12, 5))) * [1, 2, 3, 50, 0.1] - 0.3)
UNIFORM = torch.full((12,), 1 / 12, dtype=torch.float64)


def only(view: str, kind: str) -> torch.Tensor:
    return torch.tensor([float((v, k) == (view, kind)) for v, k, _ in CANDIDATES], dtype=torch.float64)


@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("view", range(len(VIEWS)))
def test_mean_squared_distance_of_training_rows_is_two(view, standardise):
    u = Views.learn(X, UNIFORM, standardise)(view, X[None])[0]
    assert torch.cdist(u, u).square().mean() == pytest.approx(2, rel=1e-9)


@pytest.mark.parametrize("standardise", [False, True])
def test_values_far_outside_the_training_range_are_clipped(standardise):
    """A column that hardly varied in training must not decide everything once it does."""
    views = Views.learn(X, UNIFORM, standardise)
    low, high = X.min(0).values, X.max(0).values
    width = high - low
    edge, beyond, within = high + width, high + 1000 * width, high + 0.9 * width
    for v in range(len(VIEWS)):
        torch.testing.assert_close(views(v, beyond[None, None]), views(v, edge[None, None]))
        torch.testing.assert_close(views(v, (low - 1000 * width)[None, None]), views(v, (low - width)[None, None]))
    assert not torch.allclose(views(0, within[None, None]), views(0, edge[None, None]))


def test_the_range_of_a_group_is_its_own():
    views = Views.stack(
        [Views.learn(X[:5], torch.full((5,), 0.2, dtype=torch.float64), False), Views.learn(X, UNIFORM, False)]
    )
    low, high = views._range(torch.tensor([0, 1]))
    torch.testing.assert_close(high[:, 0], torch.stack([X[:5].max(0).values, X.max(0).values]))
    torch.testing.assert_close(low[:, 0], torch.stack([X[:5].min(0).values, X.min(0).values]))


def test_ties_stay_ties_in_single_precision():
    """Standardised columns round differently in every expression; ranks must not notice."""
    x = torch.as_tensor(RNG.integers(0, 3, size=(200, 6)) / 7).float()
    views = Views.learn(x.double(), torch.full((200,), 1 / 200, dtype=torch.float64), True)
    exact = views(VIEWS.index("rank"), x.double()[None])
    torch.testing.assert_close(views.float()(VIEWS.index("rank"), x[None]).double(), exact, atol=1e-5, rtol=0)


def test_rank_is_the_mid_distribution_function():
    views = Views.learn(X, UNIFORM, False)
    ranks = views._view(VIEWS.index("rank"), X[None])[0]
    expected = (rankdata(X.numpy(), axis=0) - 0.5) / len(X) - 0.5
    np.testing.assert_allclose(ranks.numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("standardise", [False, True])
def test_a_row_of_weight_two_is_the_row_twice(standardise):
    shares = CLASSES.shares()
    twice = torch.cat([X, X[:3]])
    weight = torch.ones(12, dtype=torch.float64)
    weight[:3] = 2
    weighted = KernelMap.learn(X, weight, standardise).mix(shares, 8)
    repeated = KernelMap.learn(twice, torch.ones(15, dtype=torch.float64), standardise).mix(shares, 8)
    new = torch.as_tensor(RNG.normal(size=(1, 7, 5)))
    torch.testing.assert_close(weighted(new), repeated(new), atol=1e-8, rtol=1e-6)


def test_features_are_centred_with_unit_mean_squared_norm_and_reproduce_the_kernel():
    made = KernelMap.learn(X, torch.ones(12), False)
    shares = CLASSES.shares()
    kernel = torch.tensordot(shares / shares.sum(), made.centred_kernels(), 1)
    h = made.mix(shares, 12)(X[None])[0]
    torch.testing.assert_close(h.mean(0), torch.zeros(12, dtype=torch.float64), atol=1e-9, rtol=0)
    assert h.square().sum(-1).mean() == pytest.approx(1, rel=1e-6)
    torch.testing.assert_close(h @ h.T, kernel, atol=1e-6, rtol=1e-6)


def test_one_kernel_is_scikit_learns_kernel_pca():
    made = KernelMap.learn(X, torch.ones(12), False).mix(only("raw", "gauss"), 4)
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
    found = made(new[None])[0].numpy()
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-7)


def test_a_map_that_is_mixed_again_forgets_its_first_kernel() -> None:
    first, second = only("raw", "linear"), only("raw", "gauss")
    again = KernelMap.learn(X, torch.ones(12), False).mix(first, 4).mix(second, 4)
    torch.testing.assert_close(again(X), KernelMap.learn(X, torch.ones(12), False).mix(second, 4)(X))


def test_stacked_maps_are_the_maps_one_by_one():
    first = KernelMap.learn(X[:5], torch.ones(5), True).mix(CLASSES.shares(), 6)
    second = KernelMap.learn(X[5:], torch.ones(7), True).mix(CLASSES.shares(), 6)
    both = KernelMap.stack([first, second])
    x = torch.as_tensor(RNG.normal(size=(3, 4, 5)))
    found = both(x, torch.tensor([1, 0, 1]))
    torch.testing.assert_close(found[0, :, :6], second(x[:1])[0])
    torch.testing.assert_close(found[1, :, :5], first(x[1:2])[0])
    assert (found[1, :, 5:] == 0).all()


def test_a_map_survives_its_tensors():
    made = KernelMap.learn(X, torch.ones(12), True).mix(CLASSES.shares(), 6)
    again = from_tensors(made.state_dict())
    torch.testing.assert_close(again(X[None]), made(X[None]), rtol=0, atol=0)
    scaled = ScaledMap.fitted(X, torch.ones(12))
    torch.testing.assert_close(from_tensors(scaled.state_dict())(X[None]), scaled(X[None]), rtol=0, atol=0)


def test_apply_map_gives_each_task_its_own_features():
    rows = toy([4, 6], classes=2).rows()
    maps = [
        KernelMap.learn(rows.x[rows.task == t], torch.ones(int((rows.task == t).sum())), False).mix(CLASSES.shares(), 4)
        for t in range(2)
    ]
    features = apply_map(KernelMap.stack(maps), rows).x
    for t in range(2):
        own = rows.task == t
        torch.testing.assert_close(features[own], maps[t](rows.x[own][None])[0])
