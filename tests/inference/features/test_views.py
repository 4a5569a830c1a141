"""Views: normalised, clipped to the range of the training rows, and ranks as SciPy has them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import rankdata

from vmtl.inference.features.views import TABLE_COLUMNS, VIEWS, WAVES, Views, views_for, waves

RNG = np.random.default_rng(0)
X = torch.as_tensor(np.abs(RNG.normal(size=(12, 5))) * [1, 2, 3, 50, 0.1] - 0.3)
UNIFORM = torch.full((12,), 1 / 12, dtype=torch.float64)


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


@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("view", range(len(VIEWS)))
def test_a_column_without_relevance_is_not_seen(view, standardise):
    relevance = torch.tensor([1.0, 0.0, 2.0, 0.5, 1.0], dtype=torch.float64)
    views = Views.learn(X, UNIFORM, standardise, relevance)
    other = X.clone()
    other[:, 1] = X[:, 1].flip(0)
    torch.testing.assert_close(views(view, other[None]), views(view, X[None]), rtol=0, atol=0)
    other[:, 2] = X[:, 2].flip(0)
    assert not torch.allclose(views(view, other[None]), views(view, X[None]))
    u = views(view, X[None])[0]
    assert torch.cdist(u, u).square().mean() == pytest.approx(2, rel=1e-9)


def test_inner_products_of_waves_are_the_kernel_of_an_additive_spline():
    """sum_j cos(j pi u) cos(j pi v) / j^2 = pi^2 (1/3 - max(u, v) + (u^2 + v^2) / 2) / 2, in each column."""
    u, v = torch.rand(2, 7, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    closed = (torch.pi**2 / 2 * (1 / 3 - torch.maximum(u, v) + (u.square() + v.square()) / 2)).sum(-1)
    cut = 1 / torch.arange(WAVES + 1, 100_000, dtype=torch.float64).square()
    torch.testing.assert_close((waves(u - 0.5) * waves(v - 0.5)).sum(-1), closed, rtol=0, atol=float(3 * cut.sum()))


def test_many_columns_have_no_splines():
    x = torch.as_tensor(RNG.normal(size=(5, TABLE_COLUMNS + 1)))
    assert Views.learn(x, torch.full((5,), 0.2, dtype=torch.float64), False).spline_shift.numel() == 0
    assert VIEWS.index("spline") not in views_for(TABLE_COLUMNS + 1)
    assert VIEWS.index("spline") in views_for(TABLE_COLUMNS)


def test_rank_is_the_mid_distribution_function():
    views = Views.learn(X, UNIFORM, False)
    ranks = views._view(VIEWS.index("rank"), X[None])[0]
    expected = (rankdata(X.numpy(), axis=0) - 0.5) / len(X) - 0.5
    np.testing.assert_allclose(ranks.numpy(), expected, atol=1e-12)
