"""The numbers on the page: intervals, evidence, gains, arrows and their control."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

from helpers.report_models import EVEN, UNEVEN, Case, make_case
from vmtl.cli.report import fit_others
from vmtl.evaluation import metrics
from vmtl.evaluation.comparison import ALONE, POOLED
from vmtl.evaluation.intervals import of_mean, of_root_mean, of_share
from vmtl.report import (
    Control,
    Labelled,
    arrows,
    clear_arrows,
    compare,
    count_repeated,
    even_weight,
    fit_control,
    gains,
    lead,
    names_to_compare,
    perfect_ece,
)


def test_intervals_cover_as_often_as_they_say() -> None:
    rng = np.random.default_rng(0)
    hits = {"share": 0, "root": 0, "mean": 0}
    for _ in range(300):
        share, root = of_share(rng.random(60) < 0.8), of_root_mean(rng.normal(0, 2, 80) ** 2, resamples=300)
        mean = of_mean(rng.normal(1, 3, 5))
        hits["share"] += share.low <= 0.8 <= share.high
        hits["root"] += root.low <= 2 <= root.high
        hits["mean"] += mean.low <= 1 <= mean.high
    assert all(0.89 <= count / 300 <= 0.99 for count in hits.values()), hits


def test_one_value_has_no_interval() -> None:
    assert np.isnan(of_mean(np.array([2.0])).low)


def test_evidence_agrees_with_the_estimator(class_case: Case, real_case: Case) -> None:
    for case in (class_case, real_case):
        found = [case.evidence.score(case.evidence.rows(t)).value for t in case.evidence.present]
        if case.evidence.p is not None:
            expected = case.model.score_tasks(case.test.X, case.test.y, tasks=case.test.tasks)
        else:
            error = case.model.predict(case.test.X, tasks=case.test.tasks) - case.test.y
            expected = pd.Series(error**2).groupby(pd.Series(case.test.tasks)).mean() ** 0.5
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert class_case.evidence.scores(np.arange(150))["ece"] == metrics.ece(
        class_case.evidence.y,
        class_case.evidence.p,  # type: ignore[arg-type]
    )


@pytest.fixture(scope="module")
def others(class_case: Case) -> dict[str, object]:
    names = names_to_compare(class_case.model, [ALONE, POOLED, "augmented_linear"])
    seen: list[str] = []
    found = compare(class_case.model, class_case.evidence, class_case.train, class_case.test, names, seen.append)
    assert seen == names
    return dict(found)


def test_all_methods_and_references_are_compared_unless_named(class_case: Case) -> None:
    names = names_to_compare(class_case.model)
    assert class_case.model.method not in names
    assert {ALONE, POOLED, "per_task_linear", "pooled_linear", "augmented_linear"} <= set(names)


def test_gains_are_paired_tests_against_alone(class_case: Case, others: dict[str, object]) -> None:
    evidence, alone = class_case.evidence, others[ALONE]
    for t, gain in zip(evidence.present, gains(evidence, alone), strict=True):  # type: ignore[arg-type]
        rows = evidence.rows(t)
        ours, theirs = evidence.loss[rows], alone.loss[rows]  # type: ignore[attr-defined]
        assert gain.gain.value == pytest.approx(theirs.mean() - ours.mean())
        significant = ttest_rel(theirs, ours).pvalue < 0.05 if (ours != theirs).any() else False
        assert (gain.verdict != "no clear difference") == significant


def test_a_gain_over_a_worse_model_is_help_and_the_reverse_is_harm(class_case: Case, others: dict[str, object]) -> None:
    pooled = others[POOLED]  # blind to the third task's own weights
    assert gains(class_case.evidence, pooled)[2].verdict == "helped"  # type: ignore[arg-type]
    assert gains(pooled, class_case.evidence)[2].verdict == "hurt"  # type: ignore[arg-type]


def test_arrows_are_the_weights_largest_first() -> None:
    weights = pd.DataFrame([[0, 0.8, 0.2], [0.4, 0, 0.6], [0.5, 0.5, 0]], index=list("abc"), columns=list("abc"))
    found = arrows(weights)
    assert str(found[0]) == "a learns from b 0.80"
    assert [arrow.weight for arrow in found] == [0.8, 0.6, 0.5, 0.5, 0.4, 0.2]
    assert arrows(weights * 0) == []
    assert even_weight(3) == 0.5


def test_the_control_refits_with_tasks_that_mean_nothing(class_case: Case) -> None:
    train, count = class_case.train, []
    control = fit_control(class_case.model, train.X, train.y, train.tasks, repeats=2, done=lambda: count.append(1))
    assert len(count) == 4
    for weights in (control.shuffled, control.unrelated):
        assert weights.shape == (2, 3, 3)
        np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
    assert control.noise == control.shuffled.max()


def test_an_arrow_is_clear_beyond_the_control_or_where_weights_are_not_even() -> None:
    names = list("abc")
    even, uneven = (pd.DataFrame(w, index=names, columns=names) for w in (EVEN, UNEVEN))
    assert clear_arrows(even) == []
    assert clear_arrows(even + 1e-3, Control(EVEN[None], EVEN[None])) == []
    assert len(clear_arrows(uneven)) == 6
    assert [a.weight for a in clear_arrows(uneven, Control(EVEN[None], EVEN[None]))] == [0.9, 0.9]
    assert clear_arrows(uneven, Control(UNEVEN[None], EVEN[None])) == []


def test_a_perfect_model_has_a_calibration_error_that_shrinks_with_rows() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 4000)
    labels = np.array([rng.choice(3, p=row) for row in p])
    assert perfect_ece(p) == perfect_ece(p)
    assert perfect_ece(p) == pytest.approx(metrics.ece(labels, p), abs=0.01)
    assert perfect_ece(p[:25]) > 5 * perfect_ece(p)


@pytest.mark.parametrize("kind", ["class", "real"])
def test_a_lead_is_paired_and_its_interval_is_that_of_a_bootstrap(request: pytest.FixtureRequest, kind: str) -> None:
    first = request.getfixturevalue(f"{kind}_case").evidence
    rng = np.random.default_rng(0)
    n = len(first.y)
    worse = (
        replace(first, p=first.p[rng.permutation(n)])
        if kind == "class"
        else replace(first, mean=first.mean + rng.normal(size=n))
    )
    found = lead(first, worse)
    sign = 1 if kind == "class" else -1
    draws = []
    for _ in range(500):
        rows = np.concatenate([rng.choice(first.rows(t), len(first.rows(t))) for t in first.present])
        sides = [
            replace(e, task=e.task[rows], y=e.y[rows], **{f: getattr(e, f)[rows] for f in fields})
            for e, fields in ((e, ("p",) if kind == "class" else ("mean", "std")) for e in (first, worse))
        ]
        draws.append(sign * (sides[0].mean_score() - sides[1].mean_score()))
    low, high = np.quantile(draws, [0.025, 0.975])
    assert found.value == pytest.approx(sign * (first.mean_score() - worse.mean_score()))
    assert found.value > 0
    assert found.high - found.low == pytest.approx(high - low, rel=0.2)
    assert lead(first, first).high == 0


@pytest.mark.parametrize("kind", ["class", "real"])
def test_rows_that_were_in_training_are_counted(request: pytest.FixtureRequest, kind: str) -> None:
    case: Case = request.getfixturevalue(f"{kind}_case")
    train, test = case.train, case.test
    mixed = Labelled(
        np.r_[train.X[:7], test.X], np.r_[train.y[:7], test.y], np.concatenate([train.tasks[:7], test.tasks])
    )
    assert count_repeated(case.model, case.evidence, train, test) == 0
    assert count_repeated(case.model, case.evidence, train, mixed) == 7
    other = Labelled(train.X, train.y, np.full(60, "a task of another table", dtype=object))
    assert count_repeated(case.model, case.evidence, other, mixed) == 0


def test_a_control_is_fitted_where_there_is_something_to_explain(class_case: Case) -> None:
    """Two tasks have nobody to prefer."""
    for case, wanted in ((class_case, True), (make_case("class", ("a", "b"), steps=3), False)):
        found, control = fit_others(case.model, case.evidence, case.train, case.test, ["pooled_linear"], 1, False)
        assert list(found) == ["pooled_linear"]
        assert (control is not None) == wanted
