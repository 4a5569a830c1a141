"""The examples run from the command line, with a small budget, and say what they promise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.processes import PATIENCE

pytestmark = pytest.mark.system

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SMALL = {
    "hospitals.py": (["--rows", "8", "--test-rows", "20"], "who learns from whom (days)"),
    "image_domains.py": ([], "mean uncertainty"),
    "own_method.py": (["--steps", "5"], "saved and loaded by its id, the same predictions"),
}


def run(file: str, *arguments: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / file), *arguments],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_here() -> None:
    assert {file.name for file in EXAMPLES.glob("*.py")} == set(SMALL)


@pytest.mark.parametrize(
    "file", [file if file == "hospitals.py" else pytest.param(file, marks=pytest.mark.slow) for file in SMALL]
)
def test_example_runs(file: str, tmp_path: Path) -> None:
    arguments, expected = SMALL[file]
    assert expected in run(file, *arguments, folder=tmp_path)


@pytest.mark.slow
def test_hospitals_write_tables_with_gaps_and_no_answers_in_new(tmp_path: Path) -> None:
    run("hospitals.py", "--csv", "out", "--rows", "30", folder=tmp_path)
    heads = {f.stem: f.read_text().splitlines()[0].split(",") for f in (tmp_path / "out").iterdir()}
    assert set(heads) == {"train", "labelled", "new"}
    assert "treatment" in heads["train"]
    assert "treatment" not in heads["new"]
    assert ",," in (tmp_path / "out" / "train.csv").read_text()


@pytest.mark.slow
def test_image_domains_write_the_layout_that_features_take(tmp_path: Path) -> None:
    pytest.importorskip("PIL", reason="Pillow is not installed")
    from vmtl.datasets import image_folder

    run("image_domains.py", "--folder", "photos", "--per-class", "1", folder=tmp_path)
    problem = image_folder(tmp_path / "photos")
    assert (problem.n_tasks, problem.n_classes, problem.n_rows) == (4, 10, 40)
