"""``vmtl fit`` and ``vmtl predict`` of a folder of Parquet files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers.folders import labelled, write_folder
from helpers.tables import Run
from vmtl import load
from vmtl.cli._support.folders import has_classes
from vmtl.data.stored import parquet_folder
from vmtl.inference.exact import weight_prior

pytest.importorskip("pyarrow", reason="Parquet is an extra: pip install vmtl[tables]")
pytestmark = pytest.mark.usefixtures("quick_inference")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("folder") / "rows", labelled(300, 2))


@pytest.fixture(scope="module")
def model(rows: Path, quick_inference: None) -> Path:
    from typer.testing import CliRunner

    from vmtl.cli import app

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weight_prior, "MAX_DUAL_ROWS", 200)
        patch.setattr(weight_prior, "SCALE_ROWS", 100)
        out = rows.parent / "model.vmtl"
        options = ["--task", "site", "--target", "y", "--out", str(out), "--engine", "local", "--json"]
        done = CliRunner().invoke(app, ["fit", str(rows), *options])
    assert done.exit_code == 0, done.output
    assert sum(json.loads(done.stdout)["rows"].values()) == 300
    return out


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_file_is_predicted_beside_its_rows(
    run: Run, rows: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vmtl.cli._support.folders.BLOCK_ROWS", 32)
    done = run("predict", model, rows, "--out", tmp_path / "out", "--coverage", "0.9")
    assert done.exit_code == 0, done.output
    assert "300 rows in 3 files" in done.stderr
    fitted = load(model)
    for file in parquet_folder.parquet_files(rows):
        given, found = pd.read_parquet(file), pd.read_parquet(tmp_path / "out" / file.relative_to(rows))
        pd.testing.assert_frame_equal(found[given.columns], given)
        p = fitted.predict_proba(given, tasks=given["site"])
        np.testing.assert_allclose(found[["probability_0", "probability_1"]], p, rtol=0, atol=1e-4)
        assert {"prediction", "total", "set"} <= set(found)
    assert not [file for file in (tmp_path / "out").rglob("*") if file.name.startswith(".")]


def test_of_a_file_with_a_bad_row_nothing_is_written(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where blocks before it were predicted already; files before it stay."""
    monkeypatch.setattr("vmtl.cli._support.folders.BLOCK_ROWS", 32)
    table = labelled(200, 2)
    table.loc[199, "site"] = "elsewhere"
    folder = write_folder(tmp_path / "rows", table, files=2)
    done = run("predict", model, folder, "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "Unknown task 'elsewhere'" in " ".join(done.stderr.split())
    assert [file.name for file in (tmp_path / "out").rglob("*") if file.is_file()] == ["0.parquet"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "name another one for the predictions with --out"),
        (("--out", "."), "name a new or empty folder"),
        (("--out", "new", "--unknown-task", "similar"), "use --unknown-task average"),
        (("--out", "new", "--engine", "cloud"), "choose local or ray"),
        (("--out", "new", "--task", "a_column"), "a_column"),
    ],
)
def test_what_cannot_be_predicted_is_one_sentence(
    run: Run, rows: Path, model: Path, inside: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    (inside / "there").touch()
    done = run("predict", model, rows, *arguments)
    assert done.exit_code != 0
    assert sentence in " ".join(done.stderr.split())


def test_engines_are_for_folders(run: Run, rows: Path, model: Path, tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    labelled(20, 2).to_csv(table, index=False)
    for command in (("predict", model, table), ("fit", table, "--out", tmp_path / "m.vmtl")):
        done = run(*command, "--engine", "ray")
        assert done.exit_code != 0
        assert "are for folders of Parquet files" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("target", "kind", "expected"),
    [
        (lambda n: np.arange(n) % 3, "auto", True),
        (lambda n: np.arange(n) % 3, "regression", False),
        (lambda n: np.arange(n) % 30, "auto", False),
        (lambda n: np.arange(n) / 2, "auto", False),
        (lambda n: np.where(np.arange(n) % 2, "a", "b"), "auto", True),
        (lambda n: np.arange(n) % 2 == 0, "auto", True),
    ],
)
def test_the_kind_of_a_target(target: object, kind: str, expected: bool, tmp_path: Path) -> None:
    write_folder(tmp_path / "rows", labelled(90, 2).assign(y=target(90)))  # type: ignore[operator]
    assert has_classes(tmp_path / "rows", "y", kind) is expected
