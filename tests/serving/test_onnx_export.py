"""ONNX files: onnxruntime says what the estimator says; what cannot be exported leaves no file."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from helpers.forms import some_in_the_short_form
from helpers.numeric_models import NUMBERS, Numeric, fit_numeric
from helpers.tables import make_table
from vmtl import MultiTaskClassifier, MultiTaskRegressor, VMTLClassifier, VMTLRegressor
from vmtl._utils.types import Array
from vmtl.serving import export_onnx, onnx_export
from vmtl.serving.onnx_export import clamp, exponential_unit, search_sorted, soft_plus

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")


def run(path: Path, x: Array, task: Array) -> dict[str, Array]:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"x": x, "task": task}), strict=True))


def codes(model: Any, tasks: pd.Series) -> Array:
    place = {task: number for number, task in enumerate(model.tasks_)}
    return np.array([place[task] for task in tasks])


def assert_same(numeric: Numeric, path: Path, atol: float = 1e-5) -> None:
    """Probabilities or means in units of the target's deviation, and every uncertainty."""
    model, X, tasks = numeric.model, numeric.X, numeric.tasks
    expected: dict[str, Any]
    outputs = run(path, X.to_numpy(np.float64), codes(model, tasks))
    if hasattr(model, "classes_"):
        expected, scale = {"probabilities": model.predict_proba(X, tasks=tasks)}, 1.0
    else:
        expected, scale = {"prediction": model.predict(X, tasks=tasks)}, model.y_scale_
    expected |= {**model.uncertainty(X, tasks=tasks)}
    assert list(outputs) == list(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(outputs[name] / scale, np.asarray(values) / scale, rtol=0, atol=atol, err_msg=name)


def test_a_classifier_with_gaps_runs_in_onnxruntime(classes: Numeric, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    export_onnx(classes.model, path)
    assert classes.X.isna().any(axis=None)
    assert_same(classes, path)
    facts = onnxruntime.InferenceSession(path).get_modelmeta().custom_metadata_map
    assert {name: json.loads(value) for name, value in facts.items()} == {
        "kind": "classification",
        "tasks": ["north", "south", "west"],
        "columns": NUMBERS,
        "classes": ["mild", "none", "severe"],
    }
    x = classes.X.to_numpy(np.float64)[:5].copy()  # refused by the estimator: no such task, an infinite number
    x[2, 1] = np.inf
    refused = run(path, x, np.array([-1, 3, 0, 0, 2]))
    for values in refused.values():
        np.testing.assert_array_equal(np.isnan(values).reshape(5, -1).all(1), [True, True, True, False, False])
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]


@pytest.mark.parametrize("kind", some_in_the_short_form(("classes", "values"), "values"))
def test_a_task_that_was_added_later_is_exported_with_the_others(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    numeric: Numeric = request.getfixturevalue(kind)
    path, more = tmp_path / "model.onnx", make_table(40, 2)
    target = more["outcome" if kind == "classes" else "days"]
    model = copy.deepcopy(numeric.model).add_task(more[NUMBERS], target, task="east")
    tasks = numeric.tasks.where(np.arange(len(numeric.X)) % 2 == 0, "east")
    export_onnx(model, path)
    assert_same(Numeric(model, numeric.X, tasks), path)
    facts = onnxruntime.InferenceSession(path).get_modelmeta().custom_metadata_map
    assert json.loads(facts["tasks"]) == ["north", "south", "west", "east"]


def test_one_column_and_targets_far_from_zero(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, task = rng.normal(size=(60, 1)), np.arange(60) % 3
    model = MultiTaskRegressor(random_state=0).fit(x, 1e6 + x[:, 0] + 0.1 * rng.normal(size=60), tasks=task)
    export_onnx(model, tmp_path / "model.onnx")
    predicted = run(tmp_path / "model.onnx", x, task)["prediction"]
    np.testing.assert_allclose(predicted, model.predict(x, tasks=task), rtol=0, atol=1e-7)


@pytest.mark.slow
def test_a_regressor_in_the_unit_of_its_target(values: Numeric, tmp_path: Path) -> None:
    export_onnx(values.model, tmp_path / "model.onnx")
    assert_same(values, tmp_path / "model.onnx")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [VMTLClassifier, VMTLRegressor])
@pytest.mark.parametrize(
    "options",
    [
        {"method": "vstl"},
        {"method": "stl"},
        {"method": "vmtl_ac"},
        {"preset": "released"},
        {"encoder": "linear", "predictive": "monte-carlo"},
        {"predictive": "moment", "dtype": "float64"},
    ],
    ids=str,
)
def test_every_encoder_and_predictive_of_the_paper(kind: type, options: dict[str, str], tmp_path: Path) -> None:
    numeric = fit_numeric(kind, max_steps=15, **options)
    export_onnx(numeric.model, tmp_path / "model.onnx")
    assert_same(numeric, tmp_path / "model.onnx")


@pytest.mark.slow
def test_dates_are_days_and_arrays_have_no_names(tmp_path: Path) -> None:
    table = make_table(90, 0)
    table["seen"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(90), unit="D")
    model = MultiTaskClassifier(random_state=0)
    export_onnx(model.fit(table[["age", "seen"]], table["outcome"], tasks=table["site"]), tmp_path / "dates.onnx")
    days = (table["seen"] - pd.Timestamp(0)).dt.days.to_numpy(np.float64)
    outputs = run(tmp_path / "dates.onnx", np.column_stack([table["age"], days]), codes(model, table["site"]))
    expected = model.predict_proba(table[["age", "seen"]], tasks=table["site"])
    np.testing.assert_allclose(outputs["probabilities"], expected, rtol=0, atol=1e-5)
    x = table[["age", "dose"]].to_numpy()
    model.fit(x, table["outcome"], tasks=table["site"])
    export_onnx(model, tmp_path / "array.onnx")
    outputs = run(tmp_path / "array.onnx", x, codes(model, table["site"]))
    np.testing.assert_allclose(outputs["probabilities"], model.predict_proba(x, tasks=table["site"]), rtol=0, atol=1e-5)


def test_text_is_refused_and_nothing_written(tmp_path: Path) -> None:
    table = make_table(60, 0)
    model = MultiTaskClassifier(missing="impute", random_state=0)
    model.fit(table[["age", "ward"]], table["outcome"], tasks=table["site"])
    with pytest.raises(ValueError, match=r"An ONNX file takes numbers, but the model was fitted on text in 'ward'; .*"):
        export_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_file_that_would_differ_is_not_written(
    classes: Numeric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*arguments: object) -> dict[str, Array]:
        return {name: values + 1e-3 for name, values in right(*arguments).items()}

    right = onnx_export.run_file
    monkeypatch.setattr(onnx_export, "run_file", wrong)
    with pytest.raises(ValueError, match=r"would differ from the model by 0\.001, so it was not written"):
        export_onnx(classes.model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("size", [1, 2, 7, 8, 33])
def test_search_by_halving_is_torchs(size: int, right: bool) -> None:
    generator = torch.Generator().manual_seed(size)
    column = torch.randint(0, 10, (3, size), generator=generator).double().sort(-1).values
    column[1, size // 2 :] = torch.inf  # groups are padded
    x = torch.cat([torch.arange(-1.0, 12.0), torch.tensor([0.5, 8.5])]).double().expand(3, -1).contiguous()
    assert torch.equal(search_sorted(column, x, right=right), torch.searchsorted(column, x, right=right))


def test_soft_plus_is_torchs() -> None:
    x = torch.tensor([-800.0, -3.0, -1e-9, 0.0, 2.0, 30.0, 800.0], dtype=torch.float64)
    torch.testing.assert_close(soft_plus(x), torch.nn.functional.softplus(x, threshold=700), rtol=1e-15, atol=1e-15)


def test_the_exponential_unit_is_torchs() -> None:
    x = torch.tensor([-800.0, -3.0, -1e-9, 0.0, 2.0, 800.0], dtype=torch.float64)
    torch.testing.assert_close(exponential_unit(x), torch.nn.functional.elu(x), rtol=0, atol=1e-15)
    torch.testing.assert_close(exponential_unit(x, 0.5), torch.nn.functional.elu(x, 0.5), rtol=0, atol=1e-15)


def test_the_clamp_is_torchs() -> None:
    x, low, high = torch.linspace(-3, 3, 7).expand(2, -1), torch.full((7,), -1.5), torch.linspace(0, 2, 7)
    assert torch.equal(clamp(x, low, high), x.clamp(low, high))
