"""Sections on predictions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from helpers.report_models import Case
from vmtl.report.sections.scores import error_section, gain_section, score_section, trust_section


def test_without_others_the_section_says_how_to_get_them(class_case: Case) -> None:
    section = score_section(class_case.model, class_case.evidence, {})
    assert "Give the training table with --train" in section.words[-1]
    assert gain_section(class_case.evidence, {}) is None


def test_this_model_has_its_place_among_the_others(class_case: Case) -> None:
    evidence = class_case.evidence
    worse = replace(evidence, p=evidence.p[:, ::-1])
    words = score_section(class_case.model, evidence, {"stl": worse}).words
    assert words[1].startswith("Best mean over tasks: this model")
    assert "more than chance" in words[1]
    words = score_section(class_case.model, worse, {"stl": evidence}).words
    assert "place 2 of 2" in words[1]


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
