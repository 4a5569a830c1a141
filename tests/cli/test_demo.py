"""The demo: every method on both embedded problems, a table, and a model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import vmtl
from helpers.tables import Run
from vmtl import METHODS, MultiTaskClassifier

pytestmark = pytest.mark.system


@pytest.mark.slow
def test_the_demo_compares_all_methods_and_keeps_a_model(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "demo.vmtl"
    done = run("demo", "--out", out, "--steps", "4", "--seeds", "2")
    assert done.exit_code == 0, done.output
    assert "4 steps a fit" in done.stderr
    for word in (*METHODS, "tilt_60", "digit_9", "±", "who learns from whom"):
        assert word in done.stdout
    assert re.search(
        r"digits_domains, mean accuracy: vmtl [\d.]+ % against [\d.]+ % with every task alone", done.stderr
    )
    assert "vmtl fit train.csv --task COLUMN --target COLUMN" in done.stderr.splitlines()[-1]
    assert MultiTaskClassifier.load(out).tasks_.tolist() == ["tilt_0", "tilt_20", "tilt_40", "tilt_60"]


@pytest.mark.usefixtures("quick_inference")
def test_the_demo_speaks_json(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: METHODS[name] for name in ("vmtl", "bmtl")}
    monkeypatch.setattr(vmtl, "METHODS", few)
    done = run("demo", "--out", tmp_path / "d.vmtl", "--steps", "2", "--seeds", "1", "--json")
    problems = json.loads(done.stdout)["problems"]
    assert [problem["name"] for problem in problems] == ["digits_domains", "rotated_digits"]
    assert all(set(problem["scores"]) == set(few) for problem in problems)


def test_an_unknown_method_is_refused_before_the_work(run: Run, tmp_path: Path) -> None:
    done = run("demo", "--out", tmp_path / "d.vmtl", "--method", "magic")
    assert done.exit_code == 2
    assert "Unknown method" in done.stderr


@pytest.mark.slow
def test_the_demo_as_make_demo_runs_it(run: Run, tmp_path: Path) -> None:
    assert run("demo", "--out", tmp_path / "d.vmtl").exit_code == 0
