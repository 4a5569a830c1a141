"""Of many tasks, those with the most rows have a line."""

from __future__ import annotations

import pytest

from vmtl.cli._support.scores import ALL, MEAN, MOST_TASKS, show_scores


def test_many_tasks_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"task": f"t{t}", "rows": 1 + t, "rmse": 1.0, "low": 0.5, "high": 1.5, "r2": 0.5} for t in range(100)]
    show_scores("title", [*rows, {**rows[0], "task": ALL, "rows": 5050}], {"rmse": 1.0, "r2": 0.5})
    out, err = capsys.readouterr()
    assert len(out.splitlines()) <= MOST_TASKS + 8
    assert "t99 " in out
    assert "t5 " not in out
    assert ALL in out
    assert MEAN in out
    assert f"the {MOST_TASKS} tasks with the most rows, of 100" in err
