"""What was saved comes back to the bit, in another process too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import vmtl
from helpers.forms import some_in_the_short_form
from helpers.model_files import put_together, refused, take_apart
from helpers.reliable import Toy, run_python
from vmtl import METHODS, MultiTaskClassifier, MultiTaskRegressor, VMTLClassifier, VMTLRegressor
from vmtl._utils import tensor_files
from vmtl._utils.atomic_files import write_atomically

CLASSIFIERS = (MultiTaskClassifier, VMTLClassifier)
SMALL: dict[str, Any] = {"latent_dim": 8, "max_steps": 2}


def check_round_trip(kind: Any, toy: Toy, folder: Path, **options: Any) -> Any:
    """The same predictions, tables and bytes."""
    y = toy.labels if kind in CLASSIFIERS else toy.values
    model = kind(**{"random_state": 0, **options}).fit(toy.X, y, tasks=toy.tasks)
    model.save(folder / "model")
    loaded = vmtl.load(folder / "model")
    assert type(loaded) is kind
    assert (loaded.uncertainty(toy.X, tasks=toy.tasks) == model.uncertainty(toy.X, tasks=toy.tasks)).all(axis=None)
    assert (loaded.predict(toy.X, tasks=toy.tasks) == model.predict(toy.X, tasks=toy.tasks)).all()
    assert loaded.get_params() == model.get_params()
    pd.testing.assert_frame_equal(loaded.alpha_, model.alpha_)
    loaded.save(folder / "again")
    assert (folder / "again").read_bytes() == (folder / "model").read_bytes()
    return model, loaded


@pytest.mark.parametrize("kind", [MultiTaskClassifier, MultiTaskRegressor])
@pytest.mark.parametrize("relatedness", ["learned", "even", "none", "pooled"])
def test_round_trip_is_exact(relatedness: str, kind: Any, toy: Toy, tmp_path: Path) -> None:
    model, loaded = check_round_trip(kind, toy, tmp_path, relatedness=relatedness)
    assert loaded.hyperparameters_ == model.hyperparameters_


@pytest.mark.parametrize("kind", [VMTLClassifier, VMTLRegressor])
@pytest.mark.parametrize("method", some_in_the_short_form(METHODS, "vmtl", "bmtl"))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_round_trip_of_every_method_is_exact(dtype: str, method: str, kind: Any, toy: Toy, tmp_path: Path) -> None:
    model, loaded = check_round_trip(kind, toy, tmp_path, method=method, dtype=dtype, **SMALL)
    pd.testing.assert_frame_equal(loaded.history_, model.history_)


@pytest.mark.parametrize("preset", vmtl.PRESETS)
def test_every_preset_round_trips(preset: str, toy: Toy, tmp_path: Path) -> None:
    check_round_trip(VMTLClassifier, toy, tmp_path, preset=preset, tie_mixing=True, **SMALL)


def test_a_seed_of_numpy_is_saved(toy: Toy, tmp_path: Path) -> None:
    check_round_trip(MultiTaskRegressor, toy, tmp_path, random_state=np.int64(4))


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
    model = MultiTaskClassifier(random_state=0, class_weight=weight).fit(toy.X, y, tasks=toy.tasks)
    model.save(tmp_path / "model")
    loaded = vmtl.load(tmp_path / "model")
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.class_weight == weight
    assert (loaded.predict(toy.X, tasks=toy.tasks) == model.predict(toy.X, tasks=toy.tasks)).all()


def test_a_file_from_one_process_loads_in_another(toy: Toy, tmp_path: Path) -> None:
    """With another number of threads; predictions agree to rounding."""
    script = """
import sys
import numpy as np
from helpers.reliable import make_toy
import vmtl
toy = make_toy()
for file in sys.argv[1:]:
    np.save(file + ".npy", vmtl.load(file).predict_proba(toy.X, tasks=toy.tasks))
"""
    models = {
        "default": (MultiTaskClassifier(random_state=0, n_threads=1), 1e-9),
        "paper": (VMTLClassifier(**SMALL, random_state=0, n_threads=1), 1e-6),
    }
    for name, (model, _) in models.items():
        model.fit(toy.X, toy.labels, tasks=toy.tasks).save(tmp_path / name)
    run_python(script, *(tmp_path / name for name in models), threads=2)
    for name, (model, tolerance) in models.items():
        expected = model.predict_proba(toy.X, tasks=toy.tasks)
        np.testing.assert_allclose(np.load(tmp_path / f"{name}.npy"), expected, rtol=0, atol=tolerance)


def test_a_model_of_another_device_predicts_on_the_cpu(toy: Toy, tmp_path: Path) -> None:
    model = VMTLClassifier(**SMALL, random_state=0).fit(toy.X, toy.labels, tasks=toy.tasks)
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
    model = MultiTaskRegressor(random_state=0).fit(toy.X, toy.values, tasks=tasks)
    with pytest.raises(ValueError, match="labels that are text or numbers"):
        model.save(tmp_path / "model")
    huge = [name * 2_000_000 for name in toy.tasks]
    model = MultiTaskRegressor(random_state=0).fit(toy.X, toy.values, tasks=huge)
    with pytest.raises(ValueError, match="use shorter names"):
        model.save(tmp_path / "model")
    mine = replace(METHODS["bmtl"], summary="a declaration that nobody registered")
    own = VMTLRegressor(mine, **SMALL).fit(toy.X, toy.values, tasks=toy.tasks)
    with pytest.raises(ValueError, match="names its method"):
        own.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_file_of_an_earlier_version_is_one_sentence(good: bytes, tmp_path: Path) -> None:
    table, header, payload, body = take_apart(good)
    (tmp_path / "model").write_bytes(put_together(table, {**header, "version": 2}, payload, body))
    refused(tmp_path / "model", match="was written by an earlier vmtl, whose files are not read any more; fit it again")
