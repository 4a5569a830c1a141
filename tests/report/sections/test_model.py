"""Sections on the model itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from helpers.report_models import Case
from vmtl.report import Control
from vmtl.report.sections.model import learning_section, relatedness_section, settings_section

NAMES = ["a", "b", "c"]
CLEAR = pd.DataFrame([[0, 0.9, 0.1], [0.5, 0, 0.5], [0.5, 0.5, 0]], index=NAMES, columns=NAMES)
EVEN = pd.DataFrame((1 - np.eye(3)) / 2, index=NAMES, columns=NAMES)


def model(weights: pd.DataFrame) -> Any:
    return SimpleNamespace(alpha_=weights, beta_=weights, tasks_=np.array(weights.index))


def control(largest: float) -> Control:
    return Control(np.full((2, 3, 3), largest), np.full((2, 3, 3), 0.5))


def test_a_clear_link_is_the_finding() -> None:
    section = relatedness_section(model(CLEAR), control(0.6))
    assert section is not None
    assert section.words[0] == "The strongest link: a learns from b 0.90."
    assert [picture.title for picture in section.pictures][:2] == ["Who learns from whom", "Is it more than chance?"]
    assert section.lines == ("a learns from b 0.90",)
    assert section.fold == ""


@pytest.mark.parametrize(
    ("weights", "noise", "words"),
    [(EVEN, None, "each learns equally from all"), (CLEAR, 0.95, "no more than they do by chance")],
)
def test_what_tells_nothing_is_folded(weights: pd.DataFrame, noise: float | None, words: str) -> None:
    section = relatedness_section(model(weights), None if noise is None else control(noise))
    assert section is not None
    assert words in section.words[0]
    assert section.fold.startswith("All weights")


def test_two_tasks_have_no_third_to_prefer() -> None:
    section = relatedness_section(model(pd.DataFrame([[0, 1], [1, 0]], index=["a", "b"], columns=["a", "b"])), None)
    assert section is not None
    assert "With two tasks each learns from the other" in section.words[0]
    assert not any("control" in words for words in section.words)


def test_a_method_without_weights_has_no_such_section() -> None:
    assert relatedness_section(model(0 * CLEAR), None) is None


def test_training_is_told_from_its_first_to_its_last_step(class_case: Case) -> None:
    section = learning_section(class_case.model)
    history = class_case.model.history_
    assert f"In {history['step'].max()} steps" in section.words[0]
    assert section.pictures


def test_settings_and_origin_are_tables(class_case: Case) -> None:
    section = settings_section(class_case.model, {"seed": 7})
    facts, settings = section.sheets
    assert [cell.text for cell in facts.rows[0]] == ["seed", "7"]
    assert {row[0].text for row in settings.rows} == set(class_case.model.settings_.to_json())
