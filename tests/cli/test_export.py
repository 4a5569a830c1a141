"""``vmtl export``: an ONNX file, or a sentence and no file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers.tables import FEW, Run

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")


def test_a_model_of_text_is_refused_without_a_file(run: Run, class_model: Path, tmp_path: Path) -> None:
    done = run("export", class_model, "--onnx", tmp_path / "model.onnx")
    assert done.exit_code == 2
    assert "Error: An ONNX file takes numbers, but the model was fitted on text in 'ward';" in done.stderr
    assert not list(tmp_path.iterdir())
    assert run("export", class_model, "--onnx", class_model).exit_code == 2


@pytest.mark.slow
def test_the_file_says_what_predict_says(run: Run, tables: Path, tmp_path: Path) -> None:
    arguments = ("--task", "site", "--target", "days", "--drop", "ward", "--paper-method", "vbmtl", "--quiet", *FEW)
    fitted = run("fit", tables / "real_train.csv", "--out", tmp_path / "model.vmtl", *arguments)
    assert fitted.exit_code == 0, fitted.output
    done = run("export", tmp_path / "model.vmtl", "--onnx", tmp_path / "model.onnx", "--json")
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts["columns"] == ["age", "dose", "bmi"]
    new = pd.read_csv(tables / "new.csv")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    x, task = new[facts["columns"]].to_numpy(np.float64), np.array([facts["tasks"].index(site) for site in new["site"]])
    (by_file,) = session.run(["prediction"], {"x": x, "task": task})
    predicted = json.loads(run("predict", tmp_path / "model.vmtl", tables / "new.csv", "--json").stdout)
    np.testing.assert_allclose(by_file, [row["prediction"] for row in predicted], rtol=0, atol=1e-5)
