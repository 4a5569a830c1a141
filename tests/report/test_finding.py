"""What a map says: some links are clear, it is flat, or the rows cannot tell."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from helpers.report_models import EVEN, UNEVEN, Case
from vmtl.report import Control, read_map, read_model
from vmtl.report.finding import Finding, isolated_sentence, strengths

NAMES = list("abcd")
THIRD = (1 - np.eye(4)) / 3
LOW, HIGH = 0.1 * THIRD, np.minimum(1, 2.5 * THIRD)
UNKNOWN = "The rows cannot tell whether a task learns more from some of the others than from the rest."


def frame(values: Any) -> pd.DataFrame:
    names = NAMES[: len(values)]
    return pd.DataFrame(values, index=names, columns=names)


def changed(values: Any, **cells: float) -> Any:
    """A copy with ``ab=0.9``: what task a takes from task b."""
    out = values.copy()
    for (learner, teacher), value in cells.items():
        out[NAMES.index(learner), NAMES.index(teacher)] = value
    return out


def read(weights: Any, low: Any = None, high: Any = None, **given: Any) -> Finding:
    finding = read_map(frame(weights), None if low is None else (frame(low), frame(high)), **given)
    assert finding is not None
    return finding


def clear(finding: Finding) -> list[str]:
    return [arrow.learner + arrow.teacher for arrow in finding.clear]


def test_links_are_clear_where_more_intervals_than_chance_lie_above_even() -> None:
    weights = changed(THIRD, ab=0.8, ba=0.7)
    one = read(weights, changed(LOW, ab=0.5), HIGH)
    assert (one.answer, clear(one), one.sentence()) == ("unknown", [], UNKNOWN)  # one of twelve is left out by chance
    two = read(weights, changed(LOW, ab=0.5, ba=0.6), HIGH)
    assert (two.answer, clear(two)) == ("clear", ["ab", "ba"])
    assert two.sentence() == (
        "a learns more from b than from the others, and 1 more link is clear. Whether that is more than chance was not "
        "checked."
    )


@pytest.mark.parametrize("noisy", ["shuffled", "unrelated"])
def test_a_clear_link_is_larger_than_those_of_both_controls(noisy: str) -> None:
    """A link of 0.23 was called clear while unrelated tasks reached 0.27."""
    weights, low = changed(THIRD, ab=0.8, ba=0.7), changed(LOW, ab=0.5, ba=0.6)

    def against(noise: float) -> Finding:
        largest = {"shuffled": 0.4, "unrelated": 0.4} | {noisy: noise}
        return read(weights, low, HIGH, control=Control(*(np.full((1, 4, 4), value) for value in largest.values())))

    assert clear(against(0.75)) == ["ab"]
    assert against(0.75).sentence() == "a learns more from b than from the others."
    assert (clear(against(0.9)), against(0.9).sentence()) == ([], UNKNOWN)


def test_no_link_is_clear_where_even_weights_predict_better() -> None:
    found = read(changed(THIRD, ab=0.8, ba=0.7), changed(LOW, ab=0.5, ba=0.6), HIGH, even_is_better=True)
    assert (found.answer, clear(found), found.sentence()) == ("unknown", [], UNKNOWN)


def test_narrow_intervals_about_even_are_a_flat_map() -> None:
    found = read(THIRD, 0.85 * THIRD, 1.15 * THIRD)
    assert (found.answer, found.sentence()) == ("flat", "Each task learns from all others alike.")


def test_without_intervals_weights_well_above_even_are_clear() -> None:
    assert read(EVEN).answer == "flat"
    assert clear(read(UNEVEN)) == ["ab", "ba"]
    assert read(UNEVEN, control=Control(np.array([UNEVEN]), np.array([EVEN]))).answer == "unknown"


def test_two_tasks_have_nobody_to_prefer_and_no_weights_are_no_finding() -> None:
    assert "there is no third" in read(np.array([[0.0, 1.0], [1.0, 0.0]])).sentence()
    assert read_map(frame(0 * THIRD)) is None


def test_isolated_tasks_are_named() -> None:
    def model(*isolated: int) -> Any:
        return SimpleNamespace(tasks_=np.array(NAMES), hyperparameters_=SimpleNamespace(isolated=isolated))

    assert isolated_sentence(model()) is None
    assert isolated_sentence(model(1)) == "b shares nothing with the other tasks."
    assert isolated_sentence(model(0, 3)) == "a, d share nothing with the other tasks."


def test_a_fitted_model_is_read_with_its_intervals(class_case: Case) -> None:
    found = read_model(class_case.model)
    assert found is not None
    assert all(arrow.interval is not None for arrow in found.arrows)
    low, high = class_case.model.sharing_interval_.loc["north"]
    assert strengths(class_case.model)["north"].endswith(f"[{low:.2f}, {high:.2f}]")
