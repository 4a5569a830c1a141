"""The demo: every method on both embedded problems, tables, a map, a model and its page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import vmtl
from helpers.tables import Run
from vmtl import METHODS, load

pytestmark = pytest.mark.system


@pytest.mark.slow
def test_the_demo_as_make_demo_runs_it(run: Run, tmp_path: Path) -> None:
    out, page = tmp_path / "demo.vmtl", tmp_path / "demo.html"
    done = run("demo", "--out", out, "--page", page)
    assert done.exit_code == 0, done.output
    for word in (*METHODS, "per_task_linear", "tilt_60", "digit_", "±", "Map alpha", "learns most from (alpha)"):
        assert word in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if line[:1] in "┏┃┡│└")
    assert "4 of 4 learn most from a neighbour" in done.stderr
    assert re.search(
        r"digits_domains, mean accuracy: vmtl [\d.]+ % against [\d.]+ % with every task alone", done.stderr
    )
    assert "vmtl fit train.csv --task COLUMN --target COLUMN" in done.stderr.splitlines()[-3]
    assert load(out).tasks_.tolist() == ["tilt_0", "tilt_20", "tilt_40", "tilt_60"]
    text = page.read_text(encoding="utf-8")
    for part in ("Where the tasks lie", "Map alpha", "Map beta", "How strongly each task follows", "nats per row"):
        assert part in text


@pytest.mark.usefixtures("quick_inference")
def test_the_demo_speaks_json(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: METHODS[name] for name in ("vmtl", "bmtl", "stl", "pooled")}
    monkeypatch.setattr(vmtl, "METHODS", few)
    done = run("demo", "--out", tmp_path / "d.vmtl", "--page", tmp_path / "d.html", "--steps", "2", "--json")
    assert done.exit_code == 0, done.output
    problems = json.loads(done.stdout)["problems"]
    assert [problem["name"] for problem in problems] == ["digits_domains", "rotated_digits"]
    assert all(set(few) < set(problem["scores"]) for problem in problems)
    assert [len(problem["scores"]["vmtl"]) for problem in problems] == [4, 10]
    assert (tmp_path / "d.html").stat().st_size > 10_000


def test_an_unknown_method_is_refused_before_the_work(run: Run, tmp_path: Path) -> None:
    done = run("demo", "--out", tmp_path / "d.vmtl", "--page", tmp_path / "d.html", "--method", "magic")
    assert done.exit_code == 2
    assert "Unknown method" in done.stderr
    assert not list(tmp_path.iterdir())
