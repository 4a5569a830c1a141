"""The section on columns."""

from __future__ import annotations

from helpers.report_models import importance
from vmtl.report.sections.importance import importance_section


def test_what_matters_is_said_and_drawn() -> None:
    section = importance_section(importance(2))
    assert section is not None
    assert section.lines[:2] == ("column 0", "column 1, 90 % of the first")
    assert "500 rows of the labelled ones were used, and the 3 most promising of 90 columns" in section.words[0]
    assert section.sheets[0].columns == ("column", "nats per row (95 % interval)", "t0", "t1")
    assert "column 0 1.000" in section.pictures[0].alt
    assert importance_section(None) is None


def test_many_tasks_one_task_and_nothing_that_matters() -> None:
    many = importance_section(importance(30))
    assert many is not None
    assert many.sheets[0].columns[2:] == ()  # which of many tasks it matters to most is chance
    one = importance_section(importance(1, worth=-1.0))
    assert one is not None
    assert one.lines == ()
    assert "No column is worth more than chance here" in one.words[1]
    assert len(one.sheets[0].columns) == 2
