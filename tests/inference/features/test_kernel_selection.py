"""Kernel selection: what is found where the truth is known, and which rows are looked at."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.toys import toy
from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_rows
from vmtl.inference.features import kernel_selection
from vmtl.inference.features.candidate_kernels import CANDIDATES
from vmtl.inference.features.evidence_score import EvidenceScore
from vmtl.inference.features.kernel_selection import ASSUMED, assume_kernel, mixed_units, select_kernel
from vmtl.inference.features.leave_one_out import LeaveOneOutScore


def linear_share(shares: torch.Tensor) -> float:
    """Of inner products; that of splines is curved."""
    straight = [kind == "linear" and view != "spline" for view, kind, _ in CANDIDATES]
    return float(shares[torch.tensor(straight)].sum())


def problem(correlation: float, curved: bool, seed: int = 0, n_tasks: int = 6, rows: int = 25) -> Rows:
    """Regression tasks whose weights correlate; a curved truth depends on |x| only."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_tasks * rows, 5))
    task = np.repeat(np.arange(n_tasks), rows)
    common = rng.normal(size=5)
    private = rng.normal(size=(n_tasks, 5))
    w = math.sqrt(correlation) * common + math.sqrt(1 - correlation) * private
    y = ((np.abs(x) - 0.8 if curved else x) * w[task]).sum(1)
    y = (y - y.mean()) / y.std() + 0.1 * rng.normal(size=len(y))
    return Rows(*(torch.as_tensor(v) for v in (x, y, task, np.ones(len(y)))), n_tasks, 1, False)


def test_related_tasks_are_found_more_correlated_than_unrelated_ones():
    correlations = {
        rho: np.mean([select_kernel(problem(rho, False, s), 0).correlation for s in range(3)]) for rho in (0.0, 0.95)
    }
    assert correlations[0.0] + 0.15 < correlations[0.95]


def test_a_linear_truth_asks_for_linear_kernels_and_a_curved_one_does_not():
    straight = linear_share(select_kernel(problem(0.95, False), 0).shares)
    curved = linear_share(select_kernel(problem(0.95, True), 0).shares)
    assert straight > 0.8
    assert curved < 0.3


def test_tables_of_mixed_units_are_standardised_and_pixels_are_not():
    rows = problem(0.95, False)
    units = torch.tensor([1.0, 1.0, 1.0, 1.0, 1e4], dtype=torch.float64)
    assert mixed_units(rows.x * units)
    assert not mixed_units(rows.x)
    assert select_kernel(replace(rows, x=rows.x * units), 0).standardise


@pytest.mark.parametrize("columns", [6, 120])
@pytest.mark.parametrize("classes", [0, 3])
def test_what_few_rows_found_is_refined_on_more(classes, columns, monkeypatch):
    """The better of two climbs on few rows goes on over more of them, by another score where columns count."""
    monkeypatch.setattr(kernel_selection, "COMPARED_ROWS", 30)
    monkeypatch.setattr(kernel_selection, "REFINED_ROWS", 100)
    rows = toy([40, 40, 40], classes=classes, features=columns).rows()
    seen, climbs = [], []

    def climb(score, start, steps, rate, real=kernel_selection._climb):
        seen.append((type(score), len(score.target), start))
        climbs.append(real(score, start, steps, rate))
        return climbs[-1]

    monkeypatch.setattr(kernel_selection, "_climb", climb)
    chosen = select_kernel(rows, 0)
    first, last = min(climbs[:2], key=lambda peak: peak.loss), climbs[2]
    assert [(kind, n) for kind, n, _ in seen[:2]] == [(LeaveOneOutScore, 30)] * 2
    kind, n, start = seen[2]
    assert (kind, n) == (EvidenceScore if columns == 6 else LeaveOneOutScore, 100)
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(start, first.place, strict=False))
    assert chosen is last.selection
    score = kind(rows.take(subsample_rows(rows, 100, 0)), chosen.standardise)
    assert last.loss < float(score(*start).loss)
    assert (chosen.relevance is not None) == (columns == 6)
    assert float(chosen.shares.sum()) == pytest.approx(1)


def test_a_column_that_matters_counts_more_and_nobody_is_preferred_for_nothing():
    rng = np.random.default_rng(0)
    x, task = rng.normal(size=(150, 8)), np.repeat(np.arange(5), 30)
    signal, noise = 2 * np.sin(2 * x[:, 3]) + 0.3 * rng.normal(size=150), rng.normal(size=150)

    def relevance(y):
        rows = Rows(*(torch.as_tensor(v) for v in (x, y / y.std(), task, np.ones(150))), 5, 1, False)
        return select_kernel(rows, 0).relevance

    of_signal, of_noise = relevance(signal), relevance(noise)
    others = torch.arange(8) != 3
    assert of_signal[3] > 2 * of_signal[others].max()
    assert of_noise.log().abs().max() < 0.2


@pytest.mark.parametrize("classes", [0, 3])
def test_weights_count_relative_to_each_other_and_hardly_any_weight_is_no_row(classes):
    rows = toy([20, 20, 20], classes=classes, features=4, spread=2).rows()
    plain, heavy = select_kernel(rows, 0), select_kernel(replace(rows, weight=100 * rows.weight), 0)
    torch.testing.assert_close(heavy.shares, plain.shares)
    assert heavy.correlation == pytest.approx(plain.correlation)
    assert heavy.scale == pytest.approx(plain.scale)
    if not classes:  # the noise of a row of weight 100 is what it was, so that of weight 1 is ten times as large
        assert heavy.noise == pytest.approx(10 * plain.noise)
    other = toy([40, 40, 40], classes=classes, features=4, seed=9, spread=2).rows()
    other = replace(other, weight=1e-9 * other.weight)
    fields = ("x", "y", "task", "weight")
    both = replace(rows, **{name: torch.cat([getattr(rows, name), getattr(other, name)]) for name in fields})
    light = select_kernel(both, 0)
    assert light.correlation == pytest.approx(plain.correlation, abs=0.02)
    torch.testing.assert_close(light.shares, plain.shares, atol=0.03, rtol=0)


def test_features_beyond_reach_are_refused(monkeypatch):
    monkeypatch.setattr(kernel_selection, "STEPS", 0)
    with pytest.raises(FloatingPointError, match="scale the columns"):
        select_kernel(toy([5, 5], classes=2).rows(), 0)


def test_what_is_assumed_does_not_depend_on_the_rows():
    assert assume_kernel(toy([5, 5], classes=2).rows(), 0) is assume_kernel(problem(0.5, True), 1) is ASSUMED
    assert ASSUMED.logit_scale(3.0) == 3.0
    assert sum(ASSUMED.named_shares().values()) == pytest.approx(1)


def test_the_signal_is_in_units_of_the_noise():
    assert replace(ASSUMED, scale=3.0, noise=0.5).signal_to_noise == 6.0


def test_the_bias_has_prior_variance_one_on_the_scaled_features():
    """scale^2 (k + b) of the selected kernel is logit_scale^2 (h h' + 1) of features of norm k feature_scale^2."""
    chosen = select_kernel(toy([10, 10], classes=2).rows(), 0)
    k = 0.7
    prior = chosen.scale**2 * (k + chosen.bias)
    assert chosen.logit_scale(chosen.scale) ** 2 * (k * chosen.feature_scale**2 + 1) == pytest.approx(prior)
