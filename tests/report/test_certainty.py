"""Verdicts on many tasks with few rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from helpers.report_models import Case
from vmtl._utils.types import Array
from vmtl.evaluation import Evidence
from vmtl.report import certainty
from vmtl.report.sections.scores import weak_words


def many(case: Case, n_tasks: int, rows: int, wrong: float, seed: int = 0) -> Evidence:
    """Predictions of classes in many tasks, all of which err alike."""
    n = n_tasks * rows
    said = np.where(np.random.default_rng(seed).random(n) < wrong, 1, 0)
    task = np.repeat(np.arange(n_tasks), rows)
    names = tuple(f"t{t}" for t in range(n_tasks))
    zeros = np.zeros(n)
    return replace(
        case.evidence, tasks=names, task=task, y=zeros.astype(int), p=np.eye(3)[said], total=zeros, covered=None
    )


def test_no_task_of_two_rows_is_a_headline(class_case: Case) -> None:
    """Of 1,000 tasks with two rows some are always wrong by chance."""
    evidence = many(class_case, 1000, 2, 0.2)
    assert min(evidence.score(evidence.rows(t)).value for t in range(100)) == 0
    assert certainty.weak_tasks(evidence) == []
    assert min(certainty.shrunken_scores(evidence).values()) > 0.6
    assert weak_words(evidence) == "No task of 1,000 is predicted worse than the others beyond doubt."


def test_a_task_that_is_worse_is_named_among_many(class_case: Case) -> None:
    even = many(class_case, 200, 30, 0.1)
    evidence = replace(even, p=np.where((even.task == 150)[:, None], np.eye(3)[1], even.p))
    assert certainty.weak_tasks(evidence) == [150]
    assert "1 of 200: t150 (likely 0." in weak_words(evidence)
    shown = certainty.shown_tasks(evidence, 25)
    assert (len(shown), shown[0]) == (25, 150)  # not the first of them by name


def test_promises_are_broken_beyond_chance_or_not_at_all() -> None:
    task = np.repeat(np.arange(500), 10)
    inside = np.random.default_rng(0).random(5000) < 0.9
    assert len(certainty.below_promise(inside, task, 0.9)) == 0
    inside[task == 7] = False
    assert certainty.below_promise(inside, task, 0.9).tolist() == [7]


def test_gains_are_told_of_all_tasks_together(class_case: Case) -> None:
    together, alone = many(class_case, 500, 5, 0.3), many(class_case, 500, 5, 0.3, seed=1)
    assert [*certainty.gain_verdicts(together, alone).values()].count("no clear difference") >= 499
    perfect, wrong = many(class_case, 500, 40, 0.0), many(class_case, 500, 40, 0.5)
    assert set(certainty.gain_verdicts(perfect, wrong).values()) == {"helped"}
    assert set(certainty.gain_verdicts(wrong, perfect).values()) == {"hurt"}


@pytest.mark.parametrize("values", [np.zeros(6), np.ones(6), np.array([0.0, 0, 0, 1, 1, 1])])
def test_values_that_do_not_vary_have_means(values: Array) -> None:
    found = certainty.group_means(values, np.repeat([0, 1], 3))
    np.testing.assert_allclose(found.shrunken, found.mean, atol=1e-6)
    assert np.isfinite(found.p_values(0.5)).all()


def test_the_largest_tasks_are_listed(class_case: Case) -> None:
    evidence = replace(class_case.evidence, task=np.array([0, 1, 1, 2, 2, 2]))
    assert certainty.largest_tasks(evidence, 2) == [2, 1]
    assert certainty.largest_tasks(evidence, 5) == [0, 1, 2]
