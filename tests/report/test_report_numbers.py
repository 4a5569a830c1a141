"""The numbers on the page: intervals, evidence, gains, arrows and their control."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from report_models import Case
from scipy.stats import ttest_rel

from vmtl import metrics
from vmtl.report import arrows, compare, even_weight, fit_control, gains, names_to_compare
from vmtl.report.comparison import ALONE, POOLED
from vmtl.report.intervals import of_mean, of_root_mean, of_share


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
    found = compare(class_case.model, class_case.train, class_case.test, names, seen.append)
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
