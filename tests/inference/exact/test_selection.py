"""Selection: the leave-one-out algebra against refitting, and what it finds where the truth is known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.toys import toy
from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_rows
from vmtl.inference.exact import selection
from vmtl.inference.exact.selection import CLASSES, TARGETS, _Score, mixed_units, select
from vmtl.inference.features.kernel_map import CANDIDATES


def linear_share(shares: torch.Tensor) -> float:
    return float(sum(s for s, (_, kind, _) in zip(shares, CANDIDATES, strict=True) if kind == "linear"))


def problem(correlation: float, curved: bool, seed: int = 0, n_tasks: int = 6, rows: int = 25) -> Rows:
    """Regression tasks whose weights correlate; a curved truth depends on |x| only."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_tasks * rows, 5))
    task = np.repeat(np.arange(n_tasks), rows)
    common = rng.normal(size=5)
    own = rng.normal(size=(n_tasks, 5))
    w = math.sqrt(correlation) * common + math.sqrt(1 - correlation) * own
    y = ((np.abs(x) - 0.8 if curved else x) * w[task]).sum(1)
    y = (y - y.mean()) / y.std() + 0.1 * rng.normal(size=len(y))
    return Rows(*(torch.as_tensor(v) for v in (x, y, task, np.ones(len(y)))), n_tasks, 1, False)


@pytest.mark.parametrize("classes", [0, 3])
def test_leave_one_out_equals_refitting_without_the_row(classes):
    rows = toy([5, 7, 4], classes=classes).rows()
    belief = CLASSES if classes else TARGETS
    score = _Score(rows, belief, False)
    rho, ridge, bias, temperature = 0.8, 0.3, 0.5, 4.0
    numbers = torch.tensor([math.log(rho / (1 - rho)), math.log(ridge), math.log(bias), math.log(temperature)])
    shares = belief.shares()
    loss = score(shares.log(), numbers.double())
    same = rows.task[:, None] == rows.task
    kernel = torch.where(same, 1.0, rho) * (torch.tensordot(shares, score.kernels, 1) + bias)
    n, total = len(rows.y), 0.0
    noise = (ridge + 1e-4) * torch.eye(n, dtype=torch.float64)
    errors, variances = [], []
    for i in range(n):
        rest = torch.arange(n) != i
        gain = torch.linalg.solve((kernel + noise)[rest][:, rest], kernel[rest, i])
        prediction = gain @ score.target[rest]
        if classes:
            total -= float(torch.log_softmax(temperature * prediction, 0)[rows.y[i]])
        errors.append(float(score.target[i, 0] - prediction[0]))
        variances.append(float(kernel[i, i] + ridge + 1e-4 - gain @ kernel[rest, i]))
    if not classes:  # density of the left-out targets, the common scale at its best value
        e, v = np.array(errors), np.array(variances)
        total = 0.5 * n * np.log(np.mean(e**2 / v)) + 0.5 * np.log(v).sum()
    centre, deviation = torch.tensor(belief.centre), torch.tensor(belief.deviation)
    away = 0.5 * ((numbers - centre) / deviation).square().sum()
    assert float(loss) == pytest.approx(total + float(away), rel=1e-6)


def test_related_tasks_are_found_more_correlated_than_unrelated_ones():
    found = {rho: np.mean([select(problem(rho, False, s), 0).correlation for s in range(3)]) for rho in (0.0, 0.95)}
    assert found[0.0] + 0.15 < found[0.95]


def test_a_linear_truth_asks_for_linear_kernels_and_a_curved_one_does_not():
    straight = linear_share(select(problem(0.95, False), 0).shares)
    curved = linear_share(select(problem(0.95, True), 0).shares)
    assert straight > 0.8
    assert curved < 0.3


def test_tables_of_mixed_units_are_standardised_and_pixels_are_not():
    rows = problem(0.95, False)
    units = torch.tensor([1.0, 1.0, 1.0, 1.0, 1e4], dtype=torch.float64)
    assert mixed_units(rows.x * units)
    assert not mixed_units(rows.x)
    assert select(replace(rows, x=rows.x * units), 0).standardise


@pytest.mark.parametrize("classes", [0, 3])
def test_what_few_rows_found_is_improved_on_more(classes, monkeypatch):
    """With more rows than are compared, the climb goes on over more of them and ends where they score better."""
    monkeypatch.setattr(selection, "MAX_ROWS", 30)
    monkeypatch.setattr(selection, "MORE_ROWS", 100)
    rows = toy([40, 40, 40], classes=classes).rows()
    few, seen = rows.take(subsample_rows(rows, 30, 0)), []
    climbs = []

    def climb(own, standardise, start=None, real=selection._climb):
        seen.append((len(own.y), start))
        climbs.append(real(own, standardise, start))
        return climbs[-1]

    monkeypatch.setattr(selection, "_climb", climb)
    found = select(rows, 0)
    first, last = min(climbs[:2], key=lambda peak: peak.loss), climbs[2]
    assert seen == [(30, None), (30, None), (100, first)]
    assert found is last.found
    score = _Score(rows.take(subsample_rows(rows, 100, 0)), CLASSES if classes else TARGETS, found.standardise)
    assert last.loss < float(score(first.log_shares, first.numbers))
    seen.clear()
    select(few, 0)
    assert seen == [(30, None), (30, None)]


def test_thinning_takes_some_rows_of_some_tasks_if_there_are_many_and_is_seeded():
    few, many = toy([300, 300], classes=2).rows(), toy([20] * 30, classes=2).rows()
    assert len(subsample_rows(few, 100, 0)) == 100
    assert torch.equal(subsample_rows(few, 100, 0), subsample_rows(few, 100, 0))
    assert not torch.equal(subsample_rows(few, 100, 0), subsample_rows(few, 100, 1))
    uneven = toy([3] * 40 + [2000], classes=2).rows()
    for rows, most, tasks in ((many, 5, 20), (uneven, 5, 33)):
        kept = subsample_rows(rows, 100, 0)
        counts = torch.bincount(rows.task[kept], minlength=rows.n_tasks)
        assert len(kept) == 100 == len(kept.unique())
        assert int(counts.max()) <= most
        assert int((counts > 0).sum()) >= tasks
    assert torch.equal(subsample_rows(many, 100, 0), subsample_rows(many, 100, 0))


@pytest.mark.parametrize("classes", [0, 3])
def test_weights_count_relative_to_each_other_and_hardly_any_weight_is_no_row(classes):
    rows = toy([20, 20, 20], classes=classes, features=4, spread=2).rows()
    plain, heavy = select(rows, 0), select(replace(rows, weight=100 * rows.weight), 0)
    torch.testing.assert_close(heavy.shares, plain.shares)
    assert heavy.correlation == pytest.approx(plain.correlation)
    assert heavy.scale == pytest.approx(plain.scale)
    if not classes:  # the noise of a row of weight 100 is what it was, so that of weight 1 is ten times as large
        assert heavy.noise == pytest.approx(10 * plain.noise)
    other = toy([40, 40, 40], classes=classes, features=4, seed=9, spread=2).rows()
    other = replace(other, weight=1e-9 * other.weight)
    fields = ("x", "y", "task", "weight")
    both = replace(rows, **{name: torch.cat([getattr(rows, name), getattr(other, name)]) for name in fields})
    light = select(both, 0)
    assert light.correlation == pytest.approx(plain.correlation, abs=0.02)
    torch.testing.assert_close(light.shares, plain.shares, atol=0.03, rtol=0)


def test_features_beyond_reach_are_refused(monkeypatch):
    monkeypatch.setattr(selection, "STEPS", 0)
    with pytest.raises(FloatingPointError, match="scale the columns"):
        select(toy([5, 5], classes=2).rows(), 0)
