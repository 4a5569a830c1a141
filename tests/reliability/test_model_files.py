"""What was saved comes back to the bit, in another process and from every released version."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import vmtl
from helpers.forms import some_in_the_short_form
from helpers.reliable import Toy, run_python
from vmtl import METHODS, MultiTaskClassifier, MultiTaskRegressor
from vmtl._utils import tensor_files
from vmtl._utils.atomic_files import write_atomically

pytestmark = pytest.mark.usefixtures("quick_inference")


RELEASES = sorted(Path(__file__).parent.glob("models-*/*.vmtl"))


@pytest.mark.parametrize("kind", [MultiTaskClassifier, MultiTaskRegressor])
@pytest.mark.parametrize("method", some_in_the_short_form(METHODS, "vmtl", "bmtl"))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_round_trip_is_exact(dtype: str, method: str, kind: Any, toy: Toy, tmp_path: Path) -> None:
    y = toy.labels if kind is MultiTaskClassifier else toy.values
    model = kind(method=method, max_steps=3, random_state=0, dtype=dtype).fit(toy.X, y, tasks=toy.tasks)
    model.save(tmp_path / "model")
    loaded = vmtl.load(tmp_path / "model")
    assert (loaded.uncertainty(toy.X, tasks=toy.tasks) == model.uncertainty(toy.X, tasks=toy.tasks)).all(axis=None)
    assert (loaded.predict(toy.X, tasks=toy.tasks) == model.predict(toy.X, tasks=toy.tasks)).all()
    assert loaded.get_params() == model.get_params()
    pd.testing.assert_frame_equal(loaded.alpha_, model.alpha_)
    pd.testing.assert_frame_equal(loaded.history_, model.history_)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


@pytest.mark.parametrize("preset", vmtl.PRESETS)
def test_every_preset_round_trips(preset: str, toy: Toy, tmp_path: Path) -> None:
    options: dict[str, Any] = {"tie_mixing": True, "latent_dim": 8, "max_steps": 2, "random_state": np.int64(4)}
    model = MultiTaskClassifier(preset=preset, **options).fit(toy.X, toy.labels, tasks=toy.tasks)
    model.save(tmp_path / "model")
    loaded = vmtl.load(tmp_path / "model")
    assert (loaded.predict_proba(toy.X, tasks=toy.tasks) == model.predict_proba(toy.X, tasks=toy.tasks)).all()
    assert loaded.random_state == 4


@pytest.mark.parametrize(
    "classes",
    [[0, 1], [-5, 7], [True, False], [0.5, 1.5], ["é", "x" * 5000], np.array([1, 2], dtype=np.uint8)],
    ids=["int", "negative", "bool", "float", "text", "uint8"],
)
def test_labels_keep_their_type(classes: Any, toy: Toy, tmp_path: Path) -> None:
    if isinstance(classes[0], float):
        classes = np.array(classes, dtype=object).astype(str)
    y = np.asarray(classes)[(toy.values > 0).astype(int)]
    weight = dict.fromkeys(np.unique(y).tolist(), 2.0)
    model = MultiTaskClassifier(max_steps=2, random_state=0, class_weight=weight).fit(toy.X, y, tasks=toy.tasks)
    model.save(tmp_path / "model")
    loaded = vmtl.load(tmp_path / "model")
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.class_weight == weight
    assert (loaded.predict(toy.X, tasks=toy.tasks) == model.predict(toy.X, tasks=toy.tasks)).all()


def test_a_file_from_one_process_loads_in_another(toy: Toy, tmp_path: Path) -> None:
    """With another number of threads; a float64 model too. Predictions agree to rounding."""
    script = """
import sys
import numpy as np
from helpers.reliable import make_toy
from vmtl import MultiTaskClassifier
toy = make_toy()
for file in sys.argv[1:]:
    np.save(file + ".npy", vmtl.load(file).predict_proba(toy.X, tasks=toy.tasks))
"""
    tolerances, expected = {"float32": 1e-6, "float64": 1e-12}, {}
    for dtype in tolerances:
        model = MultiTaskClassifier(max_steps=5, random_state=0, dtype=dtype, n_threads=1)
        model.fit(toy.X, toy.labels, tasks=toy.tasks).save(tmp_path / dtype)
        expected[dtype] = model.predict_proba(toy.X, tasks=toy.tasks)
    run_python(script, *(tmp_path / dtype for dtype in tolerances), threads=2)
    for dtype, tolerance in tolerances.items():
        np.testing.assert_allclose(np.load(tmp_path / f"{dtype}.npy"), expected[dtype], rtol=0, atol=tolerance)


def test_a_model_of_another_device_predicts_on_the_cpu(toy: Toy, tmp_path: Path) -> None:
    model = MultiTaskClassifier(max_steps=2, random_state=0).fit(toy.X, toy.labels, tasks=toy.tasks)
    model.save(tmp_path / "model")
    payload, tensors = tensor_files.load(tmp_path / "model", "model")
    payload["parameters"]["device"] = "cuda:7"
    tensor_files.save(tmp_path / "model", "model", payload, tensors)
    loaded = vmtl.load(tmp_path / "model")
    assert loaded.device == "cpu"
    assert (loaded.predict(toy.X, tasks=toy.tasks) == model.predict(toy.X, tasks=toy.tasks)).all()


def test_files_are_as_readable_as_other_files(good: bytes, toy: Toy, tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    write_atomically(tmp_path / "model", good)
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_what_cannot_be_written_is_an_error(toy: Toy, tmp_path: Path) -> None:
    tasks = [tuple(name) for name in toy.tasks]
    model = MultiTaskRegressor(max_steps=2, random_state=0).fit(toy.X, toy.values, tasks=tasks)
    with pytest.raises(ValueError, match="labels that are text or numbers"):
        model.save(tmp_path / "model")
    huge = [name * 2_000_000 for name in toy.tasks]
    model = MultiTaskRegressor(max_steps=2, random_state=0).fit(toy.X, toy.values, tasks=huge)
    with pytest.raises(ValueError, match="use shorter names"):
        model.save(tmp_path / "model")
    mine = replace(METHODS["bmtl"], summary="a declaration that nobody registered")
    own = MultiTaskRegressor(method=mine, max_steps=2).fit(toy.X, toy.values, tasks=toy.tasks)
    with pytest.raises(ValueError, match="names its method"):
        own.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("file", RELEASES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_files_of_every_version_load(file: Path) -> None:
    """They predict what they predicted when they were written; early files rounded the ties of their columns."""
    known = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    rows = known["rows"]
    rows = pd.DataFrame(rows) if isinstance(rows, dict) else np.array(rows)
    model = vmtl.load(file)
    if known["labels"] is None:
        predicted, unit = model.predict(rows, tasks=known["tasks"]), np.std(known["expected"])
        np.testing.assert_allclose(predicted, known["expected"], rtol=0, atol=1e-3 * unit)
        return
    np.testing.assert_allclose(model.predict_proba(rows, tasks=known["tasks"]), known["expected"], atol=1e-3)
    assert [str(label) for label in model.predict(rows, tasks=known["tasks"])] == known["labels"]
