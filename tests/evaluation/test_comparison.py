"""The same rows learned in other ways, compared row by row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_rel

from helpers.report_models import Case
from vmtl import VMTLClassifier
from vmtl.evaluation import Labelled, compare, count_repeated, gains, lead, names_to_compare
from vmtl.evaluation.comparison import alone_of

ALONE, POOLED = "none", "pooled"


@pytest.fixture(scope="module")
def others(class_case: Case) -> dict[str, object]:
    names = names_to_compare(class_case.model, [ALONE, POOLED, "augmented_linear"])
    seen: list[str] = []
    outcome = compare(class_case.model, class_case.evidence, class_case.train, class_case.test, names, seen.append)
    assert seen == names
    return dict(outcome)


def test_all_methods_and_references_are_compared_unless_named(class_case: Case) -> None:
    names = names_to_compare(class_case.model)
    assert names == [ALONE, POOLED, "even", "per_task_linear", "pooled_linear", "augmented_linear"]
    of_paper = VMTLClassifier("bmtl", max_steps=2).fit(
        class_case.train.X, class_case.train.y, tasks=class_case.train.tasks
    )
    assert {"stl", "vmtl", "pooled"} <= set(names_to_compare(of_paper))
    assert "bmtl" not in names_to_compare(of_paper)
    with pytest.raises(ValueError, match="There is nothing called 'stl' to compare with; choose among none, "):
        names_to_compare(class_case.model, ["stl"])


def test_gains_are_paired_tests_against_alone(class_case: Case, others: dict[str, object]) -> None:
    evidence, alone = class_case.evidence, alone_of(others)  # type: ignore[arg-type]
    assert alone is others[ALONE]
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
    outcome = lead(first, worse)
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
    assert outcome.value == pytest.approx(sign * (first.mean_score() - worse.mean_score()))
    assert outcome.value > 0
    assert outcome.high - outcome.low == pytest.approx(high - low, rel=0.2)
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
