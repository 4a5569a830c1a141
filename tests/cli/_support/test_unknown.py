"""Tasks that were not in training are named on standard error, with those by which they are predicted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from vmtl.cli._support.unknown import note_unknown

KNOWN = ["north", "south", "west", "east"]


def model(n_unknown: int, rule: str = "similar") -> Any:
    """A model that knows four tasks, and says of unknown ones what resembles them."""
    weights = pd.DataFrame(
        [[0.1, 0.6, 0.25, 0.05]] * n_unknown, index=[f"u{k}" for k in range(n_unknown)], columns=KNOWN
    )

    def ask(X: object, tasks: object) -> pd.DataFrame:
        assert rule == "similar"
        return weights

    return SimpleNamespace(unknown_task=rule, unknown_task_weights=ask)


def said(n_unknown: int, capsys: pytest.CaptureFixture[str], **options: Any) -> str:
    note_unknown(
        model(n_unknown, options.get("rule", "similar")),
        np.zeros((1, 1)),
        np.array(["u0"]),
        options.get("quiet", False),
    )
    captured = capsys.readouterr()
    assert captured.out == ""  # tables and JSON alone go there
    return " ".join(captured.err.split())


def test_the_three_that_it_resembles_most_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    expected = "Task 'u0' was not in training; its rows resemble south (0.60), west (0.25), north (0.10)."
    assert said(1, capsys) == expected


def test_of_many_the_first_five_have_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(7, capsys)
    assert text.count("was not in training") == 5
    assert text.endswith("Nor were 'u5', 'u6'; each is predicted by the tasks that it resembles.")
    assert "Nor were" not in said(5, capsys)


@pytest.mark.parametrize("options", [{"quiet": True}, {"rule": "average"}, {"rule": "error"}])
def test_nothing_is_said_or_computed_where_nothing_is_asked(
    options: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(1, capsys, **options) == ""
    assert said(0, capsys) == ""
