"""What a map says: clear, flat or unknown, with and without intervals."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from helpers.report_models import EVEN, UNEVEN, Case
from vmtl import MultiTaskClassifier
from vmtl.report import Control, clear_arrows, read_map, read_model
from vmtl.report.finding import groups_sentence, strengths

NAMES = list("abcd")
THIRD = (1 - np.eye(4)) / 3


def frame(values: Any) -> pd.DataFrame:
    names = NAMES[: len(values)]
    return pd.DataFrame(values, index=names, columns=names)


def interval(low: Any, high: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    return frame(low), frame(high)


def changed(values: Any, **cells: float) -> Any:
    """A copy with ``ab=0.9``: what task a takes from task b."""
    out = values.copy()
    for (learner, teacher), value in cells.items():
        out[NAMES.index(learner), NAMES.index(teacher)] = value
    return out


def test_a_preference_is_clear_where_more_intervals_than_chance_are_beyond_even() -> None:
    weights = changed(THIRD, ab=0.8, ba=0.7)
    wide = 0.1 * THIRD, np.minimum(1, 2.5 * THIRD)
    one = read_map(frame(weights), interval(changed(wide[0], ab=0.5), wide[1]))
    assert one is not None
    assert one.answer == "unknown"  # one of twelve is what chance leaves out
    two = read_map(frame(weights), interval(changed(wide[0], ab=0.5, ba=0.6), changed(wide[1], ab=0.9)))
    assert two is not None
    assert two.answer == "clear"
    assert [(arrow.learner, arrow.teacher) for arrow in two.preferred] == [("a", "b"), ("b", "a")]
    assert two.sentence() == (
        "A preference is clear: a learns from b 0.80 [0.50, 0.90], and 1 more is as sure (even is 0.33)."
    )


def test_it_may_be_clear_who_is_left_out_before_it_is_clear_who_is_preferred() -> None:
    weights, low = changed(THIRD, ac=0.02, ad=0.01), 0 * THIRD
    finding = read_map(frame(weights), interval(low, changed(2.5 * THIRD, ac=0.1, ad=0.2)))
    assert finding is not None
    assert (finding.answer, finding.preferred) == ("clear", [])
    assert [arrow.teacher for arrow in finding.avoided] == ["c", "d"]  # the surest first
    assert finding.sentence() == (
        "2 of 12 weights are clearly below an even share (0.33); for example, a takes almost nothing from c "
        "(0.02 [0.00, 0.10]). Which of the others a task prefers cannot be told."
    )
    little = read_map(frame(changed(THIRD, ac=0.1, ad=0.2)), interval(low, changed(2.5 * THIRD, ac=0.2, ad=0.25)))
    assert little is not None
    assert "a takes little from c (0.10 [0.00, 0.20])" in little.sentence()


def test_narrow_intervals_about_even_are_a_flat_map() -> None:
    finding = read_map(frame(THIRD), interval(0.85 * THIRD, 1.15 * THIRD))
    assert finding is not None
    assert finding.answer == "flat"
    assert "The map is flat" in finding.sentence()


def test_wide_intervals_are_an_unknown_map_that_may_lean() -> None:
    weights, high = changed(THIRD, ab=0.4), 2 * THIRD
    unknown = read_map(frame(weights), interval(0.2 * THIRD, high))
    assert unknown is not None
    assert (unknown.answer, unknown.leaning) == ("unknown", [])
    assert unknown.sentence().startswith("The rows cannot tell")
    leaning = read_map(frame(weights), interval(changed(0.2 * THIRD, ab=1 / 3), high))
    assert leaning is not None
    assert leaning.answer == "unknown"
    assert "lean to some tasks" in leaning.sentence()
    assert leaning.sentence().endswith("a learns from b 0.40 [0.33, 0.67].")


def test_without_intervals_the_control_decides_or_what_is_about_even() -> None:
    even, uneven = frame(EVEN), frame(UNEVEN)
    assert clear_arrows(even) == []
    assert clear_arrows(even + 1e-3, Control(EVEN[None], EVEN[None])) == []
    assert [a.weight for a in clear_arrows(uneven)] == [0.9, 0.9]
    assert [a.weight for a in clear_arrows(uneven, Control(EVEN[None], EVEN[None]))] == [0.9, 0.9]
    assert clear_arrows(uneven, Control(UNEVEN[None], EVEN[None])) == []


def test_two_tasks_and_methods_without_weights() -> None:
    two = read_map(frame([[0.0, 1.0], [1.0, 0.0]]))
    assert two is not None
    assert "With two tasks" in two.sentence()
    assert read_map(frame(0 * THIRD)) is None


def test_a_model_brings_its_own_intervals(class_case: Case) -> None:
    finding = read_model(class_case.model)
    assert finding is not None
    low, high = class_case.model.alpha_interval_
    for arrow in finding.arrows:
        assert arrow.interval is not None
        assert arrow.interval == (low.loc[arrow.learner, arrow.teacher], high.loc[arrow.learner, arrow.teacher])
        assert arrow.interval[0] - 1e-6 <= arrow.weight <= arrow.interval[1] + 1e-6
    assert all("[" in text for text in strengths(class_case.model).values())


def test_a_fit_without_intervals_is_read_too(class_case: Case) -> None:
    train = class_case.train
    model = MultiTaskClassifier(mixing="mean", max_steps=2, random_state=0).fit(train.X, train.y, tasks=train.tasks)
    with pytest.raises(AttributeError, match="fit three tasks or more"):
        _ = model.alpha_interval_
    finding = read_model(model)
    assert finding is not None
    assert finding.answer == "flat"
    assert not any("[" in text for text in strengths(model).values())


def test_a_task_that_ignores_all_does_not_come_first() -> None:
    class Fitted:
        alpha_ = frame(changed(THIRD, ab=0.9, ba=0.8))
        sharing_ = np.array([0.05, 0.9, 0.9, 0.9])

    finding = read_model(cast(Any, Fitted()))
    assert finding is not None
    assert [str(arrow) for arrow in finding.preferred] == ["b learns from a 0.80", "a learns from b 0.90"]


def test_groups_are_told_in_a_sentence() -> None:
    class Fitted:
        groups_ = pd.DataFrame({"group": [0, 1, 0, 0], "probability": [0.9, 0.8, 0.9, 0.9]}, index=NAMES)

    assert groups_sentence(cast(Any, Fitted())) == (
        "By their targets the tasks follow 2 rules (88 % sure of who is with whom): a, c, d; b on its own."
    )
    Fitted.groups_ = Fitted.groups_.assign(group=[0, 1, 0, 2])
    assert groups_sentence(cast(Any, Fitted())) == (
        "By their targets the tasks follow 3 rules (88 % sure of who is with whom): a, c; b, d each on its own."
    )
    Fitted.groups_ = Fitted.groups_.assign(group=0)
    assert groups_sentence(cast(Any, Fitted())) is None
    assert groups_sentence(cast(Any, object())) is None
    many = [f"task {i}" for i in range(20)]
    Fitted.groups_ = pd.DataFrame({"group": [i % 2 for i in range(20)], "probability": 1.0}, index=many)
    sentence = groups_sentence(cast(Any, Fitted()))
    assert sentence is not None
    assert "(100 % sure" in sentence
    assert sentence.endswith(
        "task 0, task 2, task 4, task 6, task 8 and 5 more; task 1, task 3, task 5, task 7, task 9 and 5 more."
    )
