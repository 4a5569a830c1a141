"""Sections on predictions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from helpers.report_models import Case
from vmtl.report.sections.scores import error_section, gain_section, score_section, trust_section, trust_words


def test_this_model_has_its_place_among_the_others(class_case: Case) -> None:
    evidence = class_case.evidence
    worse = replace(evidence, p=evidence.p[:, ::-1])
    assert gain_section(evidence, {}) is None
    words = score_section(class_case.model, evidence, {"stl": worse}).words
    assert words[0].startswith("Best mean over tasks: this model")
    assert "more than chance" in words[0]
    words = score_section(class_case.model, worse, {"stl": evidence}).words
    assert "place 2 of 2" in words[0]


@pytest.mark.parametrize("promised", [0.785, 0.775])
def test_what_reads_alike_is_not_called_too_unsure(class_case: Case, promised: float) -> None:
    """It gives its prediction 78 % and is right in 78 % of many rows: the two agree, whatever the test says."""
    n = 40_000
    evidence = replace(
        class_case.evidence,
        y=(np.arange(n) >= 0.78 * n).astype(int),
        p=np.tile([promised, 1 - promised, 0.0], (n, 1)),
        task=np.arange(n) % 3,
        total=np.zeros(n),
        covered=None,
    )
    assert trust_words(evidence).endswith("is right in 78 % of the rows: the two agree.")


def test_too_sure_and_too_unsure_are_told_apart(class_case: Case) -> None:
    evidence, n_classes = class_case.evidence, class_case.evidence.p.shape[1]
    even = np.full_like(evidence.p, 1 / n_classes)
    unsure = 0.9 * even + 0.1 * np.eye(n_classes)[evidence.y]
    assert "too unsure" in trust_section(replace(evidence, p=unsure)).words[0]
    wrong = np.eye(n_classes)[(evidence.y + 1) % n_classes]
    assert "too sure" in trust_section(replace(evidence, p=wrong)).words[0]


def test_intervals_that_are_too_narrow_are_told(real_case: Case) -> None:
    evidence = real_case.evidence
    narrow = replace(evidence, std=np.full(len(evidence.y), 1e-6))
    assert "too narrow" in trust_section(narrow).words[0]


def test_errors_are_named_by_their_classes(class_case: Case) -> None:
    evidence, n_classes = class_case.evidence, class_case.evidence.p.shape[1]
    perfect = replace(evidence, p=np.eye(n_classes)[evidence.y])
    assert error_section(perfect).words[0].startswith("0 of ")
    swapped = replace(evidence, p=np.eye(n_classes)[np.where(evidence.y == 0, 1, evidence.y)])
    names = evidence.classes
    assert names is not None
    assert error_section(swapped).lines[0].startswith(f"{names[0]} taken for {names[1]}")


def test_a_regression_says_how_far_it_is_off(real_case: Case) -> None:
    evidence = real_case.evidence
    high = replace(evidence, mean=evidence.y + 2.0)
    assert "on average they are 2 too high" in error_section(high).words[0]
