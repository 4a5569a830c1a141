"""Who learns from whom: a sentence, and a line per task."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from vmtl.cli._support.relatedness import show_structure


def model(n: int, ends: float | None = None, isolated: tuple[int, ...] = (), **given: float) -> Any:
    """A model of n tasks with even weights; ``ab=0.9`` is what task a takes from task b."""
    names = [letter * 25 for letter in "abcdefghijklmn"[:n]]
    alpha = pd.DataFrame((1 - np.eye(n)) / (n - 1), index=names, columns=names)
    for (learner, teacher), weight in given.items():
        alpha.loc[learner * 25, teacher * 25] = weight
    sharing = pd.Series(0.9, index=names)
    found = SimpleNamespace(isolated=isolated)
    fitted = SimpleNamespace(alpha_=alpha, tasks_=np.array(names), sharing_=sharing, hyperparameters_=found)
    if ends is not None:
        fitted.alpha_interval_ = (alpha * (1 - ends), alpha * (1 + ends))
        fitted.sharing_interval_ = pd.DataFrame({"low": 0.4, "high": 1.0}, index=names)
    return fitted


def test_a_flat_map_is_a_sentence_and_strengths(capsys: pytest.CaptureFixture[str]) -> None:
    show_structure("Who", model(5, ab=0.265, isolated=(2,)), 12)
    shown = capsys.readouterr().out
    assert "Who: Each task learns from all others alike." in shown
    assert "shares nothing with the other tasks" in " ".join(shown.split())
    assert "learns most from" not in shown


def test_clear_links_have_their_intervals_and_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    show_structure("Who", model(4, ends=0.1, ca=0.6, da=0.6), 3)
    shown = capsys.readouterr().out
    lines = [line for line in shown.splitlines() if line.startswith("│")]
    assert [line[2] for line in lines] == ["c", "d", "a"]
    assert f"{'a' * 15}… 0.60 [0.54, 0.66]" in lines[0]
    assert "0.90 [0.40, 1.00]" in lines[0]
    assert "3 of 4 tasks; " in shown
    assert all(len(line) <= 80 for line in shown.splitlines() if line[:1] in "┏┃┡│└")


def test_no_weights_or_one_task_are_no_words(capsys: pytest.CaptureFixture[str]) -> None:
    nobody = model(3)
    nobody.alpha_ *= 0
    show_structure("Who", nobody, 12)
    show_structure("Who", SimpleNamespace(tasks_=["a"]), 12)  # type: ignore[arg-type]
    assert capsys.readouterr().out == ""
