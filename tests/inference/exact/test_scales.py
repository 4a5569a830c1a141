"""Scales: evidence against torch.distributions, and truths that are known."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import ttest_rel
from torch.distributions import Normal

from helpers.toys import toy
from vmtl.data.rows import Rows
from vmtl.inference.exact import scales as scales_module
from vmtl.inference.exact.output_prior import SHARED_LEVEL, Dual, OutputPrior
from vmtl.inference.exact.posterior import solve_classifier
from vmtl.inference.exact.scale_point import RegressionPoints, ScalePoint
from vmtl.inference.exact.scales import NOTHING, TARGETS, TWO_CLASSES, ScalePosterior, ScaleSearch, infer_scales
from vmtl.inference.structure.covariance import alike
from vmtl.inference.structure.structure_posterior import KnownCovariance

PRIOR = OutputPrior(alike(3, 0.6), 0.7, task_level=0.4, shared_level=1.5)


def targets() -> tuple[Rows, Dual]:
    rows = toy([6, 4, 5]).rows()
    return rows, Dual.of(rows)


# ------------------------------------------------------------------ all points


def test_the_density_of_a_point_is_its_evidence_and_what_was_believed() -> None:
    """Up to one constant of all points: log s, log tau, logit m, log gamma are normal before any row is seen."""
    rows, dual = targets()
    belief = Normal(*(torch.tensor(numbers, dtype=torch.float64) for numbers in TARGETS))
    points = infer_scales(rows, KnownCovariance(PRIOR.covariance), 1.0, 1.0).points
    rest = []
    for point in points:
        m, (s, tau) = point.strength, (size / point.noise for size in (point.prior.scale, point.prior.task_level))
        numbers = torch.tensor([s, tau, m / (1 - m), point.decay], dtype=torch.float64).log()
        prior = OutputPrior(point.prior.covariance, s, tau, SHARED_LEVEL)
        evidence = RegressionPoints(dual)(prior, (m, 1.0), 0.0, None).log_joint
        rest.append(point.log_joint - evidence - float(belief.log_prob(numbers).sum()))
    assert len(points) > 1
    assert rest == pytest.approx([rest[0]] * len(rest), abs=1e-6)


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_the_solution_is_the_average_of_the_points(classes: int) -> None:
    rows = toy([6, 4, 5], classes=classes, spread=2.0).rows()
    scales = infer_scales(rows, KnownCovariance(PRIOR.covariance), 1.0, 1.0)
    assert len(scales.points) > 1
    assert float(scales.probability.sum()) == pytest.approx(1)
    if classes:  # a regression is hedged, see below
        name = "log_left_out" if classes == 3 else "log_joint"
        log_density = torch.tensor([getattr(point, name) for point in scales.points], dtype=torch.float64)
        torch.testing.assert_close(scales.probability, log_density.softmax(0))
    weights, residuals = torch.zeros(3, max(1, classes), 7, dtype=torch.float64), torch.zeros(15, dtype=torch.float64)
    for p, point in zip(scales.probability, scales.points, strict=True):
        weights += p * scales.dual.weights(point.solution, point.prior)
        if point.residuals is not None:
            residuals += p * point.residuals
    solution = scales.solution()
    torch.testing.assert_close(solution.weights, weights, atol=1e-10, rtol=0)
    if classes:
        assert solution.residuals is None
    else:
        torch.testing.assert_close(solution.residuals, residuals, atol=1e-10, rtol=0)


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_the_evidence_is_that_of_all_points_or_below(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log of the sum where points are weighed by the evidence; else below it by the divergence of the two."""
    monkeypatch.setattr(scales_module, "LEAST_PROBABILITY", 0.0)
    rows = toy([6, 4, 5], classes=classes, spread=2.0).rows()
    search = ScaleSearch(rows, KnownCovariance(PRIOR.covariance), 1.0)
    found = search._explore(search.place_of(1.0), search._density)
    joint = torch.tensor([point.log_joint for point in found.points], dtype=torch.float64)
    divergence = torch.nn.functional.kl_div(joint.log_softmax(0), found.probability, reduction="sum")
    assert found.log_evidence == pytest.approx(float(joint.logsumexp(0) - divergence))
    assert (float(divergence) > 1e-3) == (classes == 3)


def test_averages_have_all_points_by_their_shares() -> None:
    rows = toy([6, 4, 5], classes=2, spread=2.0).rows()
    one, other = (infer_scales(rows, KnownCovariance(alike(3, rho)), 1.0, 1.0) for rho in (0.2, 0.9))
    both = ScalePosterior.average([one, other], torch.tensor([0.3, 0.7], dtype=torch.float64))
    weights = 0.3 * one.solution().weights + 0.7 * other.solution().weights
    torch.testing.assert_close(both.solution().weights, weights, atol=0.01, rtol=0)  # but for improbable points
    assert both.mean(lambda point: point.strength) == pytest.approx(one.strength**0.3 * other.strength**0.7, rel=0.01)
    alone = ScalePosterior.average([one, other], torch.tensor([1.0, 0.0], dtype=torch.float64))
    torch.testing.assert_close(alone.solution().weights, one.solution().weights)


def test_a_search_knows_where_it_has_been(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the peak of a climb on, the same is found as from the start, and no place is looked at twice."""
    rows, looked_at = toy([6, 4, 5], classes=2, spread=2.0).rows(), []
    look = ScaleSearch._look
    monkeypatch.setattr(
        ScaleSearch, "_look", lambda self, place, near: looked_at.append(place) or look(self, place, near)
    )
    search = ScaleSearch(rows, KnownCovariance(PRIOR.covariance), 1.0)
    place, point = search.climb(search.place_of(4.0))
    found = search.posterior(place)
    assert len(looked_at) == len(set(looked_at))
    assert point.log_joint == max(one.log_joint for one in found.points)
    again = infer_scales(rows, KnownCovariance(PRIOR.covariance), 1.0, 4.0)
    assert found.strength == pytest.approx(again.strength, rel=0.02)
    torch.testing.assert_close(found.solution().weights, again.solution().weights, atol=0.02, rtol=0)


def test_a_search_for_sharing_keeps_the_scales() -> None:
    rows = noisy_classes(3.0, 0.95)
    search = ScaleSearch(rows, KnownCovariance(alike(rows.n_tasks, 1.0)), 1.0)
    begin = search.place_of(0.1)
    kept, point = search.climb(begin, sharing_alone=True)
    assert (kept.scale, kept.level) == (begin.scale, begin.level)
    free, better = search.climb(begin)
    assert free.scale > begin.scale
    assert better.log_joint > point.log_joint


def test_the_middle_of_positive_numbers_is_that_of_their_logs() -> None:
    _, dual = targets()
    low, high = (
        ScalePoint(replace(PRIOR, scale=s, task_level=2 * s), m, 4 * m, 3 * s, 0.0, 0.0, torch.zeros(15, 1), None)
        for s, m in ((0.1, 0.25), (10.0, 1.0))
    )
    scales = ScalePosterior(dual, [low, high], torch.tensor([0.5, 0.5], dtype=torch.float64))
    assert scales.strength == pytest.approx(0.5)
    assert scales.decay == pytest.approx(2.0)
    assert scales.noise == pytest.approx(3.0)
    middle = scales.prior(alike(3, 0.1))
    assert (middle.scale, middle.task_level) == (pytest.approx(1.0), pytest.approx(2.0))
    assert middle.covariance.correlation == pytest.approx(0.1)


def noisy_classes(signal: float, correlation: float, seed: int = 0, classes: int = 2) -> Rows:
    """Ten tasks whose weights correlate; labels follow logits of size ``signal``."""
    rng = np.random.default_rng(seed)
    x, task = rng.normal(size=(200, 4)) / 2, np.repeat(np.arange(10), 20)
    shape = (4, classes)
    w = correlation**0.5 * rng.normal(size=shape) + (1 - correlation) ** 0.5 * rng.normal(size=(10, *shape))
    y = (signal * np.einsum("nk,nkc->nc", x, w[task]) + rng.gumbel(size=(200, classes))).argmax(1)
    return Rows(*(torch.as_tensor(v) for v in (x, y, task, np.ones(200))), 10, classes, True)


def noisy_targets(signal: float, correlation: float, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    x, task = rng.normal(size=(200, 4)) / 2, np.repeat(np.arange(10), 20)
    w = correlation**0.5 * rng.normal(size=4) + (1 - correlation) ** 0.5 * rng.normal(size=(10, 4))
    y = signal * (x * w[task]).sum(1) + rng.normal(size=200)
    return Rows(*(torch.as_tensor(v) for v in (x, y, task, np.ones(200))), 10, 1, False)


PROBLEMS: dict[str, Any] = {
    "two classes": noisy_classes,
    "three classes": lambda *numbers: noisy_classes(*numbers, classes=3),
    "targets": noisy_targets,
}


@pytest.mark.parametrize("kind", PROBLEMS)
def test_the_scale_follows_the_signal(kind: str) -> None:
    """The signal grows by a factor of 20; the scale by more than 4, since few rows know a faint one badly."""

    def scale(signal: float) -> float:
        scales = infer_scales(PROBLEMS[kind](signal, 0.95), KnownCovariance(alike(10, 0.95)), 1.0, 1.0)
        prior = scales.prior(alike(10, 0.95))
        return prior.scale / scales.noise

    assert 4 * scale(0.5) < scale(10.0)


# ------------------------------------------------------------------ noise that differs from row to row


def one_point(dual: Dual, noise: float, residuals: list[float]) -> ScalePosterior:
    point = ScalePoint(PRIOR, 1.0, 1.0, noise, 0.0, 0.0, torch.zeros(15, 1).double(), torch.tensor(residuals).double())
    return ScalePosterior(dual, [point], torch.ones(1, dtype=torch.float64))


def test_the_odds_of_uneven_noise_are_those_of_paired_errors() -> None:
    """Against a plain re-derivation; z is the t statistic of the paired differences but for n - 1 in place of n."""
    rng = np.random.default_rng(0)
    dual, before, after = targets()[1], rng.normal(size=15) + 3, rng.normal(size=15) + 2.5
    hedged = one_point(dual, 0.1, list(before)).hedged(one_point(dual, 0.2, list(after)))
    z = ttest_rel(before**2, after**2).statistic * (15 / 14) ** 0.5
    assert z > 0
    odds = math.exp(z**2 / 2) / 9
    torch.testing.assert_close(hedged.probability[1].item(), odds / (1 + odds))
    assert float(hedged.probability.sum()) == pytest.approx(1)


@pytest.mark.parametrize(("noise", "shift"), [(0.05, -0.5), (0.2, 0.5)])
def test_less_noise_and_larger_errors_are_no_reason_to_hedge(noise: float, shift: float) -> None:
    dual, before = targets()[1], np.random.default_rng(0).normal(size=15) + 3
    hedged = one_point(dual, 0.1, list(before)).hedged(one_point(dual, noise, list(before + shift)))
    assert float(hedged.probability[1:].sum()) == 0


def counts(seed: int) -> Rows:
    """Half of the rows lie about one place, where the target is 0; elsewhere it is mostly noise: what Grünwald and van
    Ommen (2017) show to mislead a posterior that takes noise to be the same in all rows."""
    rng = np.random.default_rng(seed)
    easy, x = np.arange(200) % 2 == 0, rng.normal(size=(200, 60)) / 60**0.5
    x[easy] = 1e-3 * x[easy]
    y = np.where(easy, 0.0, x[:, 0] + rng.normal(size=200))
    values = x, y - y.mean(), np.repeat(np.arange(10), 20), np.ones(200)
    return Rows(*(torch.as_tensor(v) for v in values), 10, 1, False)


def test_rows_without_noise_do_not_make_the_others_be_interpolated(monkeypatch: pytest.MonkeyPatch) -> None:
    structure, errors = KnownCovariance(alike(10, 0.9)), {"hedged": 0.0, "evidence": 0.0}
    for seed in range(3):
        residuals = infer_scales(counts(seed), structure, 1.0, 1.0).solution().residuals
        errors["hedged"] += float(residuals.square().sum())
        with monkeypatch.context() as patch:
            patch.setattr(ScalePosterior, "hedged", lambda self, _: self)
            residuals = infer_scales(counts(seed), structure, 1.0, 1.0).solution().residuals
        errors["evidence"] += float(residuals.square().sum())
    assert errors["hedged"] < 0.97 * errors["evidence"]


def test_even_noise_is_hedged_little(monkeypatch: pytest.MonkeyPatch) -> None:
    hedge, parts = ScalePosterior.hedged, []

    def watched(self: ScalePosterior, by_errors: ScalePosterior) -> ScalePosterior:
        hedged = hedge(self, by_errors)
        parts.append(float(hedged.probability[len(self.points) :].sum()))
        return hedged

    monkeypatch.setattr(ScalePosterior, "hedged", watched)
    for seed in range(8):
        infer_scales(noisy_targets(2.0, 0.9, seed), KnownCovariance(alike(10, 0.9)), 1.0, 1.0)
    assert len(parts) == 8
    assert np.mean(parts) < 0.2


@pytest.mark.parametrize("kind", PROBLEMS)
def test_what_tasks_have_of_their_own_follows_how_little_they_share(kind: str) -> None:
    """s^2 (1 - m rho): a large scale that is mostly shared says the same as a smaller one that is mostly not."""

    def own(correlation: float) -> float:
        scales = infer_scales(PROBLEMS[kind](6.0, correlation), KnownCovariance(alike(10, 0.97)), 1.0, 1.0)
        return sum(
            float(p) * (point.prior.scale / point.noise) ** 2 * (1 - point.prior.covariance.correlation)
            for p, point in zip(scales.probability, scales.points, strict=True)
        )

    assert 4 * own(0.99) < own(0.1)


def test_what_does_not_matter_is_not_explored() -> None:
    """One task has no level of its own; tasks that share nothing have no strength, and levels as good as free."""
    one = infer_scales(toy([20], classes=2, spread=3.0).rows(), KnownCovariance(alike(1, 0.0)), 1.0, 1.0)
    assert all(point.prior.task_level == pytest.approx(math.exp(TWO_CLASSES.centre[1])) for point in one.points)
    apart = infer_scales(toy([10, 10], classes=2, spread=3.0).rows(), KnownCovariance(alike(2, 0.0)), 1.0, 1.0)
    assert {point.strength for point in apart.points} == {1.0}
    assert {(point.prior.task_level, point.prior.shared_level) for point in apart.points} == {(SHARED_LEVEL, NOTHING)}
    assert len(apart.points) > 1


def test_tasks_that_share_nothing_do_not_depend_on_each_other() -> None:
    """Neither in slopes nor in levels, under the same scale."""
    rows = toy([10, 10], classes=2, spread=3.0).rows()
    covariance, flipped = alike(2, 0.0), replace(rows, y=torch.where(rows.task == 1, 1 - rows.y, rows.y))
    point = infer_scales(rows, KnownCovariance(covariance), 1.0, 1.0).points[0]
    one, other = (solve_classifier(some, point.prior).weights for some in (rows, flipped))
    torch.testing.assert_close(one[0], other[0], atol=1e-4, rtol=0)
    assert float((one[1] - other[1]).abs().max()) > 0.1


@pytest.mark.parametrize("classes", [0, 2])
def test_the_unit_of_the_features_does_not_matter(classes: int) -> None:
    rows = toy([8, 7, 6], classes=classes, spread=2.0).rows()
    one = infer_scales(rows, KnownCovariance(alike(3, 0.6)), 1.0, 1.0)
    ten = infer_scales(replace(rows, x=10 * rows.x), KnownCovariance(alike(3, 0.6)), 10.0, 1.0)
    torch.testing.assert_close(ten.probability, one.probability, atol=1e-6, rtol=0)
    small, large = one.solution().weights, ten.solution().weights
    torch.testing.assert_close(10 * large[..., :-1], small[..., :-1], atol=1e-4, rtol=0)
    torch.testing.assert_close(large[..., -1], small[..., -1], atol=1e-4, rtol=0)
