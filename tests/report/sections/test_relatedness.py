"""The section on who learns from whom."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from helpers.report_models import Case
from vmtl.evaluation import structure_worth_of
from vmtl.report import Control
from vmtl.report.plots import relatedness as plots
from vmtl.report.sections.relatedness import relatedness_section

NAMES = ["a", "b", "c"]
CLEAR = pd.DataFrame([[0, 0.9, 0.1], [0.5, 0, 0.5], [0.5, 0.5, 0]], index=NAMES, columns=NAMES)
EVEN = pd.DataFrame((1 - np.eye(3)) / 2, index=NAMES, columns=NAMES)


def model(weights: pd.DataFrame, **inferred: Any) -> Any:
    sharing = pd.Series(0.9, index=weights.index)
    return SimpleNamespace(alpha_=weights, beta_=weights, tasks_=np.array(weights.index), sharing_=sharing, **inferred)


def control(largest: float) -> Control:
    return Control(np.full((2, 3, 3), largest), np.full((2, 3, 3), 0.5))


def titles(section: Any) -> list[str]:
    return [picture.title for picture in section.pictures]


def test_a_clear_preference_is_the_finding() -> None:
    section = relatedness_section(model(CLEAR), control(0.6))
    assert section is not None
    assert section.words[0] == "A preference is clear: a learns from b 0.90 (even is 0.50)."
    assert titles(section)[0] == "Who learns from whom"
    assert titles(section)[-1] == "Is it more than chance?"
    assert section.lines[0] == "a learns from b 0.90"
    assert section.fold == ""


def test_arrows_are_as_wide_as_what_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    inner = plots.plot_arrows
    monkeypatch.setattr(plots, "plot_arrows", lambda *a, **k: given.append(k["sharing"]) or inner(*a, **k))
    fitted = model(CLEAR)
    relatedness_section(fitted, control(0.6))
    assert [list(sharing) for sharing in given] == [list(fitted.sharing_)]


def test_rules_that_only_targets_tell_are_named() -> None:
    groups = pd.DataFrame({"group": [0, 1, 0], "probability": 0.98}, index=NAMES)
    section = relatedness_section(model(CLEAR, groups_=groups), None)
    assert section is not None
    assert (
        section.words[1]
        == "By their targets the tasks follow 2 rules (98 % sure of who is with whom): a, c; b on its own."
    )
    one = relatedness_section(model(CLEAR, groups_=groups.assign(group=0)), None)
    assert one is not None
    assert not any("rules" in words for words in one.words)


@pytest.mark.parametrize(
    ("weights", "noise", "words"), [(EVEN, None, "The map is flat"), (CLEAR, 0.95, "no more than they do by chance")]
)
def test_what_tells_nothing_is_folded(weights: pd.DataFrame, noise: float | None, words: str) -> None:
    section = relatedness_section(model(weights), None if noise is None else control(noise))
    assert section is not None
    assert words in section.words[0]
    assert section.fold.startswith("All weights")
    assert section.lines == ()


def test_two_tasks_have_no_third_to_prefer() -> None:
    section = relatedness_section(model(pd.DataFrame([[0, 1], [1, 0]], index=["a", "b"], columns=["a", "b"])), None)
    assert section is not None
    assert "With two tasks each learns from the other" in section.words[0]
    assert not any("control" in words for words in section.words)


def test_a_method_without_weights_has_no_such_section() -> None:
    assert relatedness_section(model(0 * CLEAR), None) is None


@pytest.mark.parametrize("axes", [0, 1, 2, 3])
def test_positions_are_drawn_where_there_are_any(axes: int) -> None:
    ends = pd.DataFrame({"low": 0.1, "high": 1.0}, index=NAMES)
    places = pd.DataFrame(np.arange(3.0 * axes).reshape(3, axes), index=NAMES)
    section = relatedness_section(model(CLEAR, positions_=places, sharing_interval_=ends), None)
    assert section is not None
    assert ("Where the tasks lie" in titles(section)) == (axes > 0)
    strengths = next(p for p in section.pictures if p.title == "How strongly each task follows the others")
    assert "a 0.90 [0.10, 1.00]" in strengths.alt
    assert ("no task stands out" in strengths.caption) == (axes == 0)


def test_the_structure_of_a_fit_stands_beside_what_it_is_worth(class_case: Case) -> None:
    worth = structure_worth_of(class_case.model, class_case.train)
    assert worth is not None
    section = relatedness_section(class_case.model, None, worth)
    assert section is not None
    arrow_sheet, worth_sheet = section.sheets
    assert arrow_sheet.columns[2] == "weight [90 % interval]"
    assert [row[1].text for row in worth_sheet.rows] == [f"{nats:.3f}" for nats in worth.values()]
    assert any(f"{worth['alone']:.3f} alone" in words for words in section.words)
    moved = "; an end is moved where that is needed to include the weight itself."
    assert any(f"Between the ends lie 90 % of what the training rows leave possible{moved}" in w for w in section.words)
