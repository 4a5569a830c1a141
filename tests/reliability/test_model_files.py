"""Model files: what was saved comes back to the bit; anything else is one clear error, in little memory."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import pickle
import resource
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vmtl
from helpers.reliable import Toy, make_toy, run_python
from vmtl import METHODS, MultiTaskClassifier, MultiTaskRegressor
from vmtl._utils import tensor_files
from vmtl._utils.atomic_files import write_atomically
from vmtl._utils.tensor_files import ModelFileError

pytestmark = pytest.mark.usefixtures("quick_inference")

DATA = Path(__file__).parent
RELEASES = sorted(DATA.glob("models-*/*.vmtl"))
MEGABYTE = 2**20


@pytest.fixture(scope="module")
def good(quick_inference: None, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    toy, file = make_toy(n=30), tmp_path_factory.mktemp("good") / "model"
    MultiTaskClassifier(max_steps=3, random_state=0).fit(toy.X, toy.labels, tasks=toy.tasks).save(file)
    return file.read_bytes()


@pytest.fixture(scope="module")
def reference(good: bytes, tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("reference") / "model"
    file.write_bytes(good)
    return predictions(MultiTaskClassifier.load(file))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutants") / "mutant"


def predictions(model: Any) -> Any:
    toy = make_toy(n=30, seed=1)
    return model.predict_proba(toy.X, tasks=toy.tasks)


def take_apart(data: bytes) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any], bytes]:
    """The table of tensors, the header, the payload and the tensor bytes of a file."""
    size = int.from_bytes(data[:8], "little")
    table = json.loads(data[8 : 8 + size])
    header = json.loads(table.pop("__metadata__")["vmtl"])
    return table, header, json.loads(header["payload"]), data[8 + size :]


def put_together(table: dict[str, Any], header: dict[str, Any], payload: Any, body: bytes) -> bytes:
    """A file whose checksums are right, whatever it says: what a hostile author would write."""
    text = json.dumps(payload)
    layout = hashlib.sha256(json.dumps(table, sort_keys=True).encode() + body).hexdigest()
    digest = hashlib.sha256(text.encode()).hexdigest()
    header = {**header, "payload": text, "payload_sha256": digest, "tensor_sha256": layout}
    raw = json.dumps({"__metadata__": {"vmtl": json.dumps(header)}, **table}).encode()
    raw += b" " * (-len(raw) % 8)
    return len(raw).to_bytes(8, "little") + raw + body


def refused(file: Path, kind: Any = MultiTaskClassifier, match: str | None = None) -> None:
    """Loading is one ModelFileError of one line, without much memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ModelFileError, match=match) as caught:
        kind.load(file)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 600 * MEGABYTE
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


# -- what was saved comes back ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [MultiTaskClassifier, MultiTaskRegressor])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_round_trip_is_exact(dtype: str, method: str, kind: Any, toy: Toy, tmp_path: Path) -> None:
    y = toy.labels if kind is MultiTaskClassifier else toy.values
    model = kind(method=method, max_steps=3, random_state=0, dtype=dtype).fit(toy.X, y, tasks=toy.tasks)
    model.save(tmp_path / "model")
    loaded = kind.load(tmp_path / "model")
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
    loaded = MultiTaskClassifier.load(tmp_path / "model")
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
    loaded = MultiTaskClassifier.load(tmp_path / "model")
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
    np.save(file + ".npy", MultiTaskClassifier.load(file).predict_proba(toy.X, tasks=toy.tasks))
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
    loaded = MultiTaskClassifier.load(tmp_path / "model")
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


# -- files of released versions --------------------------------------------------------------------------


@pytest.mark.parametrize("file", RELEASES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_files_of_every_version_load(file: Path) -> None:
    """They predict what they predicted when they were written; early files rounded the ties of their columns."""
    known = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    rows = known["rows"]
    rows = pd.DataFrame(rows) if isinstance(rows, dict) else np.array(rows)
    model = getattr(vmtl, known["estimator"]).load(file)
    if known["labels"] is None:
        found, unit = model.predict(rows, tasks=known["tasks"]), np.std(known["expected"])
        np.testing.assert_allclose(found, known["expected"], rtol=0, atol=1e-3 * unit)
        return
    np.testing.assert_allclose(model.predict_proba(rows, tasks=known["tasks"]), known["expected"], atol=1e-3)
    assert [str(label) for label in model.predict(rows, tasks=known["tasks"])] == known["labels"]


# -- files that are not models ---------------------------------------------------------------------------


class Bomb:
    """Unpickling it would create a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_a_pickle_in_disguise_is_never_run(protocol: int, good: bytes, tmp_path: Path) -> None:
    mark, file = tmp_path / "executed", tmp_path / "model.safetensors"
    attack = pickle.dumps(Bomb(mark), protocol)
    file.write_bytes(attack)
    refused(file, match="not a vmtl file")
    torch.save({"model": Bomb(mark)}, file)
    refused(file, match="not a vmtl file")
    file.write_bytes(len(attack).to_bytes(8, "little") + attack + good)
    refused(file, match="not a vmtl file")
    table, header, payload, body = take_apart(good)
    for hostile in ("__reduce__", "os.system", f"cos\nmkdir\n(S'{mark}'\ntR."):
        file.write_bytes(put_together(table, header, {**payload, "parameters": {"method": hostile}}, body))
        refused(file, match="does not describe")
    assert not mark.exists()


def test_files_that_are_not_ours(good: bytes, toy: Toy, tmp_path: Path) -> None:
    file = tmp_path / "model"
    for foreign in (
        b"",
        b"\0",
        b"\0" * 8,
        b"\xff" * 4096,
        b"PK\x03\x04" + b"\0" * 100,
        b"{}",
        b"\2" + b"\0" * 7 + b"{}",
    ):
        file.write_bytes(foreign)
        refused(file, match="not a vmtl file")
    refused(tmp_path, match="is a folder")
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", match="not a vmtl file")
    refused(Path("/dev/zero"), match="not a vmtl file")
    with pytest.raises(FileNotFoundError):
        MultiTaskClassifier.load(tmp_path / "none")
    MultiTaskRegressor(max_steps=2).fit(toy.X, toy.values, tasks=toy.tasks).save(file)
    refused(file, match="holds a MultiTaskRegressor")


def test_swapped_parts(good: bytes, tmp_path: Path) -> None:
    """The header of one model with the tensors of another."""
    toy = make_toy(n=30, seed=5)
    model = MultiTaskClassifier(max_steps=3, random_state=1).fit(toy.X, toy.labels, tasks=toy.tasks)
    model.save(tmp_path / "other")
    other = (tmp_path / "other").read_bytes()
    size, other_size = (int.from_bytes(data[:8], "little") for data in (good, other))
    (tmp_path / "model").write_bytes(good[: 8 + size] + other[8 + other_size :])
    refused(tmp_path / "model", match="damaged")


@pytest.mark.parametrize("claim", [2**63, 2**40, 100 * MEGABYTE, 17 * MEGABYTE])
def test_an_oversized_header(claim: int, good: bytes, tmp_path: Path) -> None:
    file = tmp_path / "model"
    file.write_bytes(claim.to_bytes(8, "little") + good[8:])
    refused(file, match="not a vmtl file")
    with file.open("r+b") as stream:  # a hole: large for stat, small on disk
        stream.truncate(min(claim, 2**40) + 4096)
    refused(file, match="not a vmtl file")


@pytest.mark.parametrize("filling", [b"[", b"[],", b'{"a":', b"1,", b"9", b'{"":0},'], ids=repr)
def test_a_header_of_the_largest_size_that_is_read(filling: bytes, tmp_path: Path) -> None:
    """16 MB of the JSON that is worst for a parser."""
    raw = (b"[" + filling * (tensor_files.MAX_HEADER // len(filling)))[: tensor_files.MAX_HEADER - 3] + b"0]"
    (tmp_path / "model").write_bytes(len(raw).to_bytes(8, "little") + raw)
    refused(tmp_path / "model", match="not a vmtl file")


def test_a_body_of_holes(good: bytes, tmp_path: Path) -> None:
    """A terabyte that takes no room on disk, with a table that does not speak of it."""
    file = tmp_path / "model"
    file.write_bytes(good)
    with file.open("r+b") as stream:
        stream.truncate(2**40)
    refused(file, match="length")


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("settings", "latent_dim"), 10**9),
        (("settings", "hidden_dim"), 10**9),
        (("settings", "predict_z"), 10**9),
        (("settings", "predict_w"), 10**9),
        (("classes_dtype",), "<U1000000000"),
        (("classes_dtype",), "|V1000000000"),
        (("classes_dtype",), "|S5"),
        (("classes",), list(range(1000))),
        (("tasks",), list(range(100_000))),
        (("tasks",), ["north", "north", "west"]),
        (("tasks",), [["north"], "south", "west"]),
        (("n_features_in",), 10**9),
        (("seed",), 10**30),
        (("parameters", "nonsense"), 1),
        (("parameters", "method"), "none"),
        (("preprocessor",), {"version": 99}),
        (("history",), None),
        (("estimator",), "object"),
        (("settings", "encoder"), "mlp"),
    ],
    ids=repr,
)
def test_a_small_file_that_describes_something_else(
    where: tuple[str, ...], value: Any, good: bytes, tmp_path: Path
) -> None:
    """Wrong schemas, and zip bombs: a few kilobytes that would need gigabytes. Their checksums are right."""
    table, header, payload, body = take_apart(good)
    if where == ("settings", "latent_dim") or where == ("settings", "hidden_dim"):
        payload["settings"]["encoder"] = "mlp"
    target = payload
    for key in where[:-1]:
        target = target[key]
    target[where[-1]] = value
    (tmp_path / "model").write_bytes(put_together(table, header, payload, body))
    refused(tmp_path / "model")


def test_empty_tensors_of_enormous_shape(good: bytes, tmp_path: Path) -> None:
    """A shape with a zero takes no bytes, whatever its other sizes."""
    table, header, payload, body = take_apart(good)
    for name in table:
        changed = copy.deepcopy(table)
        start = changed[name]["data_offsets"][0]
        length = changed[name]["data_offsets"][1] - start
        changed[name] = {**changed[name], "shape": [10**9, 0, 10**9], "data_offsets": [start, start]}
        for other in changed.values():
            if other["data_offsets"][0] > start:
                other["data_offsets"] = [offset - length for offset in other["data_offsets"]]
        cut = body[:start] + body[start + length :]
        (tmp_path / "model").write_bytes(put_together(changed, header, payload, cut))
        refused(tmp_path / "model")


@pytest.mark.parametrize("version", [2, 10**6, 0, -1, True, 1.5, "1", None])
def test_other_versions(version: Any, good: bytes, tmp_path: Path) -> None:
    table, header, payload, body = take_apart(good)
    (tmp_path / "model").write_bytes(put_together(table, {**header, "version": version}, payload, body))
    newer = type(version) is int and version > 1
    refused(tmp_path / "model", match="upgrade vmtl" if newer else "not a vmtl file")


@pytest.mark.parametrize(
    "text", ['"\\ud800"', "[1]", "null", "{", "1" * 10_000, "[" * 100_000], ids=lambda text: text[:8]
)
def test_headers_that_are_not_objects(text: str, tmp_path: Path) -> None:
    for raw in (text, json.dumps({"__metadata__": {"vmtl": text}}), '{"__metadata__": {"vmtl": ' + text[:5000] + "}}"):
        data = raw.encode()
        (tmp_path / "model").write_bytes(len(data).to_bytes(8, "little") + data)
        refused(tmp_path / "model", match="not a vmtl file")


# -- mutations -------------------------------------------------------------------------------------------

KINDS = ("flip", "cut", "delete", "insert", "overwrite", "repeat", "swap")
JUNK: list[Any] = [
    None, True, -1, 0, 1, 7, 10**9, 10**30, -0.5, 1e308, "", "x", "\ud800", "é" * 100, "<U1000000000",
    [], [0], [[]], [None] * 5, {}, {"a": 1}, {"pairs": 3}, ["linear", 1.0], "1" * 5000,
]  # fmt: skip


def mutate(data: bytes, kind: str, at: float, length: int, noise: bytes) -> bytes:
    place = min(int(at * len(data)), len(data) - 1)
    end = place + length
    if kind == "flip":
        return data[:place] + bytes([data[place] ^ (1 << length % 8)]) + data[place + 1 :]
    if kind == "cut":
        return data[:place]
    if kind == "delete":
        return data[:place] + data[end:]
    if kind == "insert":
        return data[:place] + noise + data[place:]
    if kind == "overwrite":
        return data[:place] + noise + data[place + len(noise) :]
    if kind == "repeat":
        return data[:end] + data[place:]
    return data[:place] + data[end : end + length] + data[place:end] + data[end + length :]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places inside a JSON document."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        found += leaves(part, (*path, key))
    return found


def check_bytes(file: Path, good: bytes, reference: Any, mutant: bytes) -> None:
    """A changed file is refused, or the change was one that means nothing (blanks) and the model is the same."""
    file.write_bytes(mutant)
    try:
        model = MultiTaskClassifier.load(file)
    except ModelFileError:
        assert mutant != good
    else:
        assert (predictions(model) == reference).all()


def check_document(file: Path, good: bytes, data: st.DataObject) -> None:
    """With right checksums: the file is refused, or it is a model, whose predictions are numbers or a ValueError."""
    table, header, payload, body = take_apart(good)
    document = {"table": table, "payload": payload}
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(leaves(document)))
        target: Any = document
        for key in path[:-1]:
            target = target[key]
        if data.draw(st.booleans()):
            target[path[-1]] = copy.deepcopy(data.draw(st.sampled_from(JUNK)))  # junk may be changed in turn
        elif isinstance(target, dict) and len(path) > 1:
            del target[path[-1]]
        if not isinstance(document["table"], dict):
            document["table"] = {}
    file.write_bytes(put_together(document["table"], header, document["payload"], body))
    try:
        model = MultiTaskClassifier.load(file)
    except ModelFileError:
        pass
    else:
        try:
            found = predictions(model)
        except ValueError:
            pass
        else:
            assert np.isfinite(found).all()


def memory_stays_bounded(run: Any) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run()
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 600 * MEGABYTE


def fuzz(examples: int, good: bytes, reference: Any, file: Path) -> None:
    options: dict[str, Any] = {"deadline": None, "database": None, "derandomize": True}
    options["suppress_health_check"] = list(HealthCheck)

    @settings(max_examples=examples, **options)
    @given(
        st.sampled_from(KINDS),
        st.floats(0, 1, exclude_max=True),
        st.integers(1, 400),
        st.binary(min_size=1, max_size=64),
    )
    def change_bytes(kind: str, at: float, length: int, noise: bytes) -> None:
        check_bytes(file, good, reference, mutate(good, kind, at, length, noise))

    @settings(max_examples=examples, **options)
    @given(st.data())
    def change_document(data: st.DataObject) -> None:
        check_document(file, good, data)

    memory_stays_bounded(change_bytes)
    memory_stays_bounded(change_document)


def test_two_hundred_mutations(good: bytes, reference: Any, place: Path) -> None:
    fuzz(100, good, reference, place)


@pytest.mark.slow
def test_four_thousand_mutations(good: bytes, reference: Any, place: Path) -> None:
    fuzz(2000, good, reference, place)


@pytest.mark.slow
def test_every_byte_flipped(good: bytes, reference: Any, place: Path) -> None:
    """Every byte of the file once, a random bit of it."""
    bits = np.random.default_rng(0).integers(0, 8, len(good))
    for at, bit in enumerate(bits):
        check_bytes(place, good, reference, good[:at] + bytes([good[at] ^ (1 << int(bit))]) + good[at + 1 :])
