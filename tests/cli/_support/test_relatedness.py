"""Who is like whom and who learns from whom: a sentence, a small map, and a line per task."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from vmtl.cli._support.relatedness import show_strengths, show_structure


def even(n: int) -> pd.DataFrame:
    names = [letter * 9 for letter in "abcdefghijklmn"[:n]]
    return pd.DataFrame((1 - np.eye(n)) / (n - 1), index=names, columns=names)


def model(n: int, ends: float | None = None, beta: pd.DataFrame | None = None, **given: float) -> Any:
    """A model of n tasks with even maps; ``ab=0.9`` is what task a takes from task b."""
    alpha, beta = even(n), even(n) if beta is None else beta
    for (learner, teacher), weight in given.items():
        alpha.loc[learner * 9, teacher * 9] = weight
    names = alpha.index.to_list()
    sharing = pd.Series(0.9, index=names)
    fitted = SimpleNamespace(alpha_=alpha, beta_=beta, tasks_=np.array(names), sharing_=sharing)
    if ends is not None:
        fitted.alpha_interval_ = (alpha * (1 - ends), alpha * (1 + ends))
        fitted.beta_interval_ = (beta * 0.99, beta * 1.01)
    return fitted


def chain(n: int) -> pd.DataFrame:
    """Each task is most like the next one."""
    likeness = 0.5 ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)) + 0.1) * (1 - np.eye(n))
    table = even(n)
    return pd.DataFrame(likeness / likeness.sum(1, keepdims=True), index=table.index, columns=table.columns)


def test_two_flat_maps_are_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    show_structure("Who", model(5, ab=0.265), 12)
    assert capsys.readouterr().out == "Who: The map is flat: each task learns from all others alike, 0.25 from each.\n"


def test_every_task_has_its_strongest_weights_with_intervals(capsys: pytest.CaptureFixture[str]) -> None:
    show_structure("Who", model(5, ends=0.5, ab=0.6), 12)
    shown = capsys.readouterr().out
    assert "Who: The rows lean to some tasks" in shown
    assert "an even weight is 0.25; in brackets 90 % intervals" in shown
    assert "│ bbbbbbbbb 0.60 [0.30, 0.90] │ 0.90 │" in shown
    assert all(len(line) <= 80 for line in shown.splitlines()[1:])


def test_representations_show_where_weights_are_flat(capsys: pytest.CaptureFixture[str]) -> None:
    """The sentence is about alpha; the map is of beta."""
    show_structure("Who", model(4, ends=0.01, beta=chain(4)), 12)
    shown = capsys.readouterr().out
    assert "The map is flat" in shown
    assert "Map beta" in shown
    first = next(line for line in shown.splitlines() if line.startswith("│ aaaaaaaaa"))
    assert [cell.count("█") for cell in first.split("│")[2:-1]] == [round(10 * value) for value in chain(4).iloc[0]]
    assert "│ aaaaaaaaa │ bbbbbbbbb 0." in shown
    assert all(len(line) <= 80 for line in shown.splitlines()[1:])


def test_weights_that_are_clear_are_shown_as_a_map(capsys: pytest.CaptureFixture[str]) -> None:
    show_structure("Who", model(4, ends=0.1, ab=0.6, ba=0.6), 12)
    shown = capsys.readouterr().out
    assert "A preference is clear" in shown
    assert "Map alpha" in shown
    assert "Map beta" not in shown


def test_of_many_tasks_those_with_the_strongest_weights_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    show_structure("Who", model(14, ends=0.5, na=0.9), 3)
    shown = capsys.readouterr().out
    assert "3 of 14 tasks" in shown
    lines = [line for line in shown.splitlines() if line.startswith("│")]
    assert len(lines) == 3
    assert lines[-1].startswith("│ nnnnnnnnn")
    assert "█" not in shown


def test_strengths_stand_with_their_intervals(capsys: pytest.CaptureFixture[str]) -> None:
    fitted = model(3, ends=0.5)
    fitted.sharing_interval_ = pd.DataFrame({"low": 0.4, "high": 1.0}, index=fitted.sharing_.index)
    assert show_structure("Who", fitted, 12)
    shown = capsys.readouterr().out
    assert shown.count("0.90 [0.40, 1.00]") == 3
    assert all(len(line) <= 80 for line in shown.splitlines()[1:])
    fitted.method_ = SimpleNamespace(mixes_w=True)
    show_strengths(fitted, 2)
    shown = capsys.readouterr().out
    assert "follows the others, 2 of 3 tasks; in brackets 90 % intervals" in " ".join(shown.split())
    assert shown.count("0.90 [0.40, 1.00]") == 2
    fitted.method_ = SimpleNamespace(mixes_w=False)
    show_strengths(fitted, 2)
    assert capsys.readouterr().out == ""


def test_no_weights_are_no_words(capsys: pytest.CaptureFixture[str]) -> None:
    nobody = model(3)
    nobody.alpha_ *= 0
    show_structure("Who", nobody, 12)
    assert capsys.readouterr().out == ""
