"""Views: centred and scaled, clipped to the range of the training rows, exact in weights; formulas column by column."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import rankdata
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from vmtl.gp.views import N_BASIS, TABLE_COLUMNS, UNIT_ROWS, VIEWS, Views, spline_basis, views_for

RNG = np.random.default_rng(0)
X = torch.as_tensor(np.abs(RNG.normal(size=(12, 5))) * [1, 2, 3, 50, 0.1] - 0.3)
UNIFORM = torch.full((12,), 1 / 12, dtype=torch.float64)


@pytest.mark.parametrize("view", VIEWS)
def test_training_rows_are_centred_with_a_mean_squared_norm_of_one(view: str) -> None:
    u = Views.learn(X, UNIFORM)(view, X)
    torch.testing.assert_close(u.mean(0), torch.zeros_like(u[0]), atol=1e-12, rtol=0)
    assert float(u.square().sum(-1).mean()) == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("view", VIEWS)
def test_a_row_of_weight_two_is_the_row_twice(view: str) -> None:
    weight = torch.where(torch.arange(12) < 3, 2.0, 1.0).double() / 15
    heavy = Views.learn(X, weight)
    twice = Views.learn(torch.cat([X, X[:3]]), torch.full((15,), 1 / 15, dtype=torch.float64))
    new = torch.as_tensor(RNG.normal(size=(6, 5)))
    torch.testing.assert_close(heavy(view, new), twice(view, new))


@pytest.mark.parametrize("view", VIEWS)
def test_values_far_outside_the_training_range_are_clipped(view: str) -> None:
    """A column that hardly varied in training must not decide everything once it does."""
    views = Views.learn(X, UNIFORM)
    low, high = X.min(0).values, X.max(0).values
    width = high - low
    torch.testing.assert_close(views(view, (high + 1000 * width)[None]), views(view, (high + width)[None]))
    torch.testing.assert_close(views(view, (low - 1000 * width)[None]), views(view, (low - width)[None]))
    if view == "raw":
        assert not torch.allclose(views(view, (high + 0.9 * width)[None]), views(view, (high + width)[None]))


@pytest.mark.parametrize("view", VIEWS)
def test_a_column_without_relevance_is_not_seen(view: str) -> None:
    relevance = torch.tensor([1.0, 0.0, 2.0, 0.5, 1.0], dtype=torch.float64)
    views = Views.learn(X, UNIFORM, relevance)
    other = X.clone()
    other[:, 1] = X[:, 1].flip(0)
    torch.testing.assert_close(views(view, other), views(view, X), rtol=0, atol=0)
    other[:, 2] = X[:, 2].flip(0)
    assert not torch.allclose(views(view, other), views(view, X))


@pytest.mark.parametrize("view", VIEWS)
def test_columns_that_never_vary_are_finite(view: str) -> None:
    constant = torch.ones(5, 3, dtype=torch.float64)
    views = Views.learn(constant, torch.full((5,), 0.2, dtype=torch.float64))
    assert bool(views(view, torch.randn(4, 3, dtype=torch.float64)).isfinite().all())


def test_standard_is_scikit_learns_scaler_and_clipped() -> None:
    views = Views.learn(X, UNIFORM)
    found = views.columns("standard", X)
    np.testing.assert_allclose(found, StandardScaler().fit_transform(X), rtol=0.2)
    big = X[:, [0, 1, 3]]  # the column that varies most is divided by its own deviation
    np.testing.assert_allclose(found[:, 3], StandardScaler().fit_transform(big)[:, 2], rtol=1e-3)
    assert float(views.columns("standard", 1e6 * X).abs().max()) == 6


def test_columns_of_roots_logs_and_unit_rows_by_their_formulas() -> None:
    views, x = Views.learn(X, UNIFORM), X.numpy()
    formulas = {
        "raw": x,
        "root": np.sign(x) * np.sqrt(np.abs(x)),
        "log": np.sign(x) * np.log1p(np.abs(x)),
        "shrunk": (x - x.mean(0)) / (x.std(0) + x.std(0).mean() / 2),
    }
    for name, expected in formulas.items():
        np.testing.assert_allclose(views.columns(name, X), expected, rtol=1e-9, atol=1e-12)
    for name in UNIT_ROWS:
        unit = torch.as_tensor(formulas[name])
        unit = unit / unit.norm(dim=1, keepdim=True)
        centred = unit - unit.mean(0)
        torch.testing.assert_close(views(name, X), centred / centred.square().sum(-1).mean().sqrt())


def test_rank_is_the_mid_distribution_function() -> None:
    tied = X.round()
    ranks = Views.learn(tied, UNIFORM).columns("rank", tied)
    np.testing.assert_allclose(ranks, (rankdata(tied.numpy(), axis=0) - 0.5) / 12 - 0.5, atol=1e-12)


def test_inner_products_of_the_basis_are_the_kernel_of_an_additive_spline() -> None:
    """sum_j cos(j pi u) cos(j pi v) / j^2 = pi^2 (1/3 - max(u, v) + (u^2 + v^2) / 2) / 2, in each column."""
    u, v = torch.rand(2, 7, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    closed: Tensor = (torch.pi**2 / 2 * (1 / 3 - torch.maximum(u, v) + (u.square() + v.square()) / 2)).sum(-1)
    cut = 1 / torch.arange(N_BASIS + 1, 100_000, dtype=torch.float64).square()
    found = (spline_basis(u - 0.5) * spline_basis(v - 0.5)).sum(-1)
    torch.testing.assert_close(found, closed, rtol=0, atol=float(3 * cut.sum()))


def test_many_columns_have_no_views_of_tables() -> None:
    assert "spline" not in views_for(TABLE_COLUMNS + 1)
    assert "spline" in views_for(TABLE_COLUMNS)
    wide = torch.as_tensor(RNG.normal(size=(5, TABLE_COLUMNS + 1)))
    assert Views.learn(wide, torch.full((5,), 0.2, dtype=torch.float64)).shift.shape == (4, TABLE_COLUMNS + 1)
