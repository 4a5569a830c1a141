"""The sections on how tasks differ and who learns from whom."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from helpers.report_models import Case
from vmtl.report import Control
from vmtl.report.plots import relatedness as plots
from vmtl.report.sections.relatedness import difference_section, find_links, relatedness_section

NAMES = ["a", "b", "c"]
CLEAR = pd.DataFrame([[0, 0.9, 0.1], [0.5, 0, 0.5], [0.5, 0.5, 0]], index=NAMES, columns=NAMES)
EVEN = pd.DataFrame((1 - np.eye(3)) / 2, index=NAMES, columns=NAMES)


def model(weights: pd.DataFrame, isolated: tuple[int, ...] = (), **inferred: Any) -> Any:
    return SimpleNamespace(
        alpha_=weights,
        beta_=weights,
        tasks_=np.array(weights.index),
        sharing_=pd.Series(0.9, index=weights.index),
        hyperparameters_=SimpleNamespace(isolated=isolated),
        **inferred,
    )


def both(fitted: Any, noise: float | None, case: Case) -> tuple[Any, Any]:
    """The section in front, and that of the appendix."""
    control = None if noise is None else Control(np.full((2, 3, 3), noise), np.full((2, 3, 3), 0.5))
    finding = find_links(fitted, control, case.evidence, {})
    return difference_section(fitted, finding, case.evidence, {}), relatedness_section(fitted, finding, control)


def titles(section: Any) -> list[str]:
    return [picture.title for picture in section.pictures]


def test_a_clear_link_is_told_in_front_and_the_weights_behind(class_case: Case) -> None:
    front, behind = both(model(CLEAR, isolated=(2,)), 0.6, class_case)
    assert front.words == ("c shares nothing with the other tasks.", "a learns more from b than from the others.")
    assert front.lines == ("a learns from b 0.90",)
    assert titles(front) == ["Who learns from whom"]
    assert titles(behind)[-1] == "Is it more than chance?"
    assert [row[3].text for row in behind.sheets[0].rows] == ["clear"] + ["open"] * 5
    assert "both controls" in behind.sheets[0].note


def test_arrows_are_as_wide_as_what_arrives(monkeypatch: pytest.MonkeyPatch, class_case: Case) -> None:
    given: list[Any] = []
    inner = plots.plot_arrows
    monkeypatch.setattr(plots, "plot_arrows", lambda *a, **k: given.append(k["sharing"]) or inner(*a, **k))
    fitted = model(CLEAR)
    both(fitted, 0.6, class_case)
    assert [list(sharing) for sharing in given] == [list(fitted.sharing_)]


@pytest.mark.parametrize(("weights", "noise", "words"), [(EVEN, None, "alike"), (CLEAR, 0.95, "The rows cannot tell")])
def test_what_is_not_clear_is_claimed_nowhere(
    weights: pd.DataFrame, noise: float | None, words: str, class_case: Case
) -> None:
    front, behind = both(model(weights), noise, class_case)
    assert words in front.words[0]
    assert (front.lines, front.pictures) == ((), ())
    assert {row[3].text for row in behind.sheets[0].rows} == {"open"}


def test_links_that_cost_predictions_are_not_told(class_case: Case) -> None:
    perfect = replace(class_case.evidence, p=np.eye(3)[class_case.evidence.y])
    finding = find_links(model(CLEAR), None, class_case.evidence, {"even": perfect})
    assert finding is not None
    assert (finding.answer, finding.clear) == ("unknown", [])


def test_sharing_is_told_against_alone_and_one_task(class_case: Case) -> None:
    evidence = class_case.evidence
    perfect, poor = (replace(evidence, p=np.eye(3)[(evidence.y + k) % 3]) for k in (0, 1))
    section = difference_section(model(EVEN), None, evidence, {"none": poor, "pooled": perfect})
    assert section is not None
    assert "better than learning every task alone" in section.words[0]
    assert "worse than taking all rows as one task" in section.words[0]


def test_a_method_without_weights_says_nothing_of_them(class_case: Case) -> None:
    assert both(model(0 * CLEAR), None, class_case) == (None, None)


@pytest.mark.parametrize("axes", [0, 1, 2, 3])
@pytest.mark.parametrize("kind", ["class", "real"])
def test_positions_are_drawn_where_there_are_any(axes: int, kind: str, request: pytest.FixtureRequest) -> None:
    """In a regression there are no classes."""
    ends = pd.DataFrame({"low": 0.1, "high": 1.0}, index=NAMES)
    places = pd.DataFrame(np.arange(3.0 * axes).reshape(3, axes), index=NAMES)
    fitted = model(CLEAR, positions_=places, sharing_interval_=ends)
    front, behind = both(fitted, None, request.getfixturevalue(f"{kind}_case"))
    drawn = [picture for picture in front.pictures if picture.title == "Where the tasks lie"]
    assert len(drawn) == (axes > 0)
    assert all(("of a class" in picture.caption) == (kind == "class") for picture in drawn)
    assert all(("within classes" in picture.svg) == (kind == "class") for picture in drawn)
    strengths = next(p for p in behind.pictures if p.title == "How strongly each task follows the others")
    assert "a 0.90 [0.10, 1.00]" in strengths.alt
    assert ("no task stands out" in strengths.caption) == (axes == 0)
