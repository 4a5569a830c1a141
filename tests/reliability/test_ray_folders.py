"""Fits and predictions by two workers of a Ray cluster, one of which is killed midway: nothing lost, nothing twice."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import helpers
from helpers.folders import DieOnce, FragilePrediction, labelled, write_folder
from vmtl import MultiTaskRegressor
from vmtl.cli._support.folders import _each_file
from vmtl.data.rows import Sums
from vmtl.data.stored.crews import RayCrew
from vmtl.data.stored.owner import Stage
from vmtl.estimators import parquet_fit
from vmtl.gp import posterior

pytestmark = pytest.mark.system
pytest.importorskip("ray", reason="Ray is an extra: pip install vmtl[ray]")
pytest.importorskip("pyarrow", reason="Parquet is an extra: pip install vmtl[tables]")


@pytest.fixture
def workers_import_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    tests = Path(helpers.__path__[0]).parent
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tests), os.environ.get("PYTHONPATH", "")]))


def test_one_of_two_workers_is_killed_in_a_pass(
    tmp_path: Path, workers_import_helpers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_fit, "MAX_ROWS_IN_MEMORY", 200)
    monkeypatch.setattr(posterior, "MAX_GRAM_ROWS", 200)
    table, passes = labelled(400, 0), []
    folder = write_folder(tmp_path / "rows", table)
    total, flag = RayCrew.total, tmp_path / "killed"

    def fragile(self: RayCrew, stage: Stage, part: Callable[[Any], Sums]) -> Sums:
        passes.append(len(self.owners))
        return total(self, stage, DieOnce(part, flag) if len(passes) == 6 else part)

    monkeypatch.setattr(RayCrew, "total", fragile)
    by_two = MultiTaskRegressor(random_state=0).fit_parquet(folder, task="site", target="y", engine="ray", workers=2)
    assert flag.exists()
    assert set(passes) == {2}
    here = MultiTaskRegressor(random_state=0).fit_parquet(folder, task="site", target="y")
    X, tasks = table[list("abcd")], table["site"]
    for one, two in zip(
        by_two.predict(X, tasks=tasks, return_std=True), here.predict(X, tasks=tasks, return_std=True), strict=True
    ):
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-6)
    assert by_two._fitted.task_rows.tolist() == table["site"].value_counts().sort_index().tolist()


@pytest.mark.slow
def test_one_of_two_workers_is_killed_with_half_a_file_written(tmp_path: Path, workers_import_helpers: None) -> None:
    table = labelled(400, 0)
    rows, target = table.drop(columns="y"), table["y"]
    folder, out, model = write_folder(tmp_path / "rows", rows), tmp_path / "out", tmp_path / "model.vmtl"
    fitted = MultiTaskRegressor(task_column="site", random_state=0).fit(rows, target)
    fitted.save(model)
    predict = FragilePrediction(model, folder, out, "site", None, None)
    files = sorted(folder.rglob("*.parquet"))
    assert sorted(_each_file(predict, files, "ray", 2, None)) == sorted(len(pd.read_parquet(file)) for file in files)
    assert model.with_suffix(".killed").exists()
    assert sorted(f.relative_to(out) for f in out.rglob("*") if f.is_file()) == [f.relative_to(folder) for f in files]
    predicted = pd.concat([pd.read_parquet(out / file.relative_to(folder)) for file in files], ignore_index=True)
    assert predicted["a"].tolist() == table["a"].tolist()
    np.testing.assert_allclose(predicted["prediction"], fitted.predict(rows), rtol=0, atol=1e-5)
