"""Who learns from whom, as a sentence and a short table."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from vmtl.cli._support.weights import show_weights


def model(n: int, ends: float | None = None, **given: float) -> Any:
    """A model of n tasks with even mixing weights; ``ab=0.9`` is what task a takes from task b."""
    names = [letter * 9 for letter in "abcdefgh"[:n]]
    table = pd.DataFrame((1 - np.eye(n)) / (n - 1), index=names, columns=names)
    for (learner, teacher), weight in given.items():
        table.loc[learner * 9, teacher * 9] = weight
    sharing = pd.Series(0.9, index=names)
    fitted = SimpleNamespace(alpha_=table, tasks_=np.array(names), sharing_=sharing)
    if ends is not None:
        fitted.alpha_interval_ = (table * (1 - ends), table * (1 + ends))
        fitted.sharing_interval_ = pd.DataFrame({"low": 0.5 * sharing, "high": sharing})
    return fitted


def test_a_flat_map_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    show_weights("Who", model(5, ab=0.265), 12)
    assert capsys.readouterr().out == "Who: The map is flat: each task learns from all others alike, 0.25 from each.\n"


def test_weights_stand_with_their_intervals_and_strengths(capsys: pytest.CaptureFixture[str]) -> None:
    show_weights("Who", model(5, ends=0.5, ab=0.6), 12)
    shown = capsys.readouterr().out
    assert "Who: The rows lean to some tasks" in shown
    assert "the 12 strongest of 20; an even weight is 0.25; in brackets 90 % intervals" in shown
    assert "0.60 [0.30, 0.90] │ 0.90 [0.45, 0.90]" in shown
    assert all(len(line) <= 80 for line in shown.splitlines()[1:])


def test_a_short_table_is_not_cut_and_no_weights_are_no_words(capsys: pytest.CaptureFixture[str]) -> None:
    show_weights("Who", model(3, ab=0.8), 12)
    assert "strongest of" not in capsys.readouterr().out
    nobody = model(3)
    nobody.alpha_ *= 0
    show_weights("Who", nobody, 12)
    assert capsys.readouterr().out == ""
