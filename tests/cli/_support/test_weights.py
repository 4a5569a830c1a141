"""Who learns from whom, as a short table or one sentence."""

from __future__ import annotations

import pandas as pd
import pytest

from vmtl.cli._support.weights import show_weights


def weights(n: int, **given: float) -> pd.DataFrame:
    """Even mixing weights of n tasks; ``ab=0.9`` is what task a takes from task b."""
    names = list("abcdefgh"[:n])
    table = pd.DataFrame(1 / (n - 1), index=names, columns=names)
    for (learner, teacher), weight in given.items():
        table.loc[learner, teacher] = weight
    return table


def test_weights_that_prefer_nobody_are_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    show_weights("Who", weights(5, ab=0.265), 12)
    assert capsys.readouterr().out == "Who: no task is preferred, each learns equally from all others.\n"


def test_a_cut_table_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    show_weights("Who", weights(5, ab=0.6), 12)
    assert "the 12 strongest of 20; an indifferent learner has 0.250" in capsys.readouterr().out
    show_weights("Who", weights(3, ab=0.6), 12)
    assert "strongest" not in capsys.readouterr().out
    show_weights("Who", weights(3) * 0, 12)
    assert capsys.readouterr().out == ""
