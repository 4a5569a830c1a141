"""The demo: two problems, what sharing is worth in each, a model and its page."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from helpers.tables import Run
from vmtl import load

pytestmark = pytest.mark.system


def test_the_demo_as_make_demo_runs_it(run: Run, tmp_path: Path) -> None:
    """Where tasks contradict each other, all rows as one task are worse; where they are alike, every task alone is."""
    out, page = tmp_path / "demo.vmtl", tmp_path / "demo.html"
    done = run("demo", "--out", out, "--page", page)
    assert done.exit_code == 0, done.output
    for word in ("per-task linear", "every task alone", "all rows as one task", "±"):
        assert word in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if line[:1] in "┏┃┡│└")
    told = " ".join(done.stderr.split())
    assert "digits_questions: learned sharing is not clearly other than every task alone and better than" in told
    assert "digits_domains: learned sharing is better than every task alone and not clearly other than" in told
    assert "learns more from large_" not in told  # tilts look alike, answers do not: within the control
    assert "vmtl fit train.csv --task COLUMN --target COLUMN" in done.stderr.splitlines()[-3]
    assert len(load(out).tasks_) == 6
    assert "Two questions about digits, three scanners" in page.read_text(encoding="utf-8")


def test_the_demo_speaks_json(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["vmtl.cli.demo"], "RIVALS", ("none", "pooled"))
    done = run("demo", "--out", tmp_path / "d.vmtl", "--page", tmp_path / "d.html", "--json")
    assert done.exit_code == 0, done.output
    problems = json.loads(done.stdout)["problems"]
    assert [problem["name"] for problem in problems] == ["digits_questions", "digits_domains"]
    assert all(set(problem["scores"]) == {"learned", "none", "pooled"} for problem in problems)
    assert [len(problem["scores"]["learned"]) for problem in problems] == [6, 4]
