"""Goals, measured from records."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.paper.goals import measure_goals
from helpers.golden_suite import golden_suite, invented_records


def test_goals_are_measured_from_records(tmp_path: Path) -> None:
    suite = golden_suite(tmp_path)
    goals = {goal.what: goal for goal in measure_goals([suite], invented_records(suite))}
    gain = goals["accuracy over the best linear row, mean over sets"]
    assert gain.value == pytest.approx(1.0)
    assert gain.reached is False
    assert goals["tasks with negative transfer, Holm-corrected"].value == 0
    assert goals["alpha inside the right group"].reached is None
