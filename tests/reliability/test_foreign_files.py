"""A file that is not a model is one clear error, in little memory; nothing in it is ever run."""

from __future__ import annotations

import copy
import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch

import vmtl
from helpers.model_files import MEGABYTE, put_together, refused, take_apart
from helpers.reliable import Toy, make_toy
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl._utils import tensor_files
from vmtl._utils.tensor_files import FORMAT_VERSION


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
        file.write_bytes(put_together(table, header, {**payload, "parameters": {"relatedness": hostile}}, body))
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
        vmtl.load(tmp_path / "none")


def test_swapped_parts(good: bytes, tmp_path: Path) -> None:
    """The header of one model with the tensors of another."""
    toy = make_toy(n=30, seed=5)
    model = MultiTaskClassifier(random_state=1).fit(toy.X, toy.labels, tasks=toy.tasks)
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
        (("target", "classes_dtype"), "<U1000000000"),
        (("target", "classes_dtype"), "|V1000000000"),
        (("target", "classes_dtype"), "|S5"),
        (("target", "classes_dtype"), "1" * 5000),
        (("target", "classes"), list(range(1000))),
        (("target",), {"mean": 0.0, "scale": 1.0}),
        (("tasks",), list(range(100_000))),
        (("tasks",), ["north", "north", "west"]),
        (("tasks",), [["north"], "south", "west"]),
        (("n_features_in",), 10**9),
        (("parameters", "nonsense"), 1),
        (("parameters", "relatedness"), "some"),
        (("preprocessor",), {"version": 99}),
        (("fitted",), None),
        (("fitted", "hyperparameters"), {}),
        (("estimator",), "object"),
        (("estimator",), "MultiTaskRegressor"),
        (("estimator",), "VMTLClassifier"),
    ],
    ids=repr,
)
def test_a_small_file_that_describes_something_else(
    where: tuple[str, ...], value: Any, good: bytes, tmp_path: Path
) -> None:
    check_change(good, where, value, tmp_path / "model")


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("settings", "latent_dim"), 10**9),
        (("settings", "hidden_dim"), 10**9),
        (("settings", "predict_z"), 10**9),
        (("settings", "predict_w"), 10**9),
        (("settings", "encoder"), "mlp"),
        (("parameters", "method"), 3),
        (("method",), "none"),
        (("fitted", "size_in"), 10**9),
        (("fitted", "history"), None),
    ],
    ids=repr,
)
def test_a_small_file_of_the_paper_that_describes_something_else(
    where: tuple[str, ...], value: Any, good_paper: bytes, tmp_path: Path
) -> None:
    check_change(good_paper, where, value, tmp_path / "model")


def check_change(good: bytes, where: tuple[str, ...], value: Any, file: Path) -> None:
    """Wrong schemas, and zip bombs: a few kilobytes that would need gigabytes. Their checksums are right."""
    table, header, payload, body = take_apart(good)
    if where == ("settings", "latent_dim") or where == ("settings", "hidden_dim"):
        payload["settings"]["encoder"] = "mlp"
    target = payload
    for key in where[:-1]:
        target = target[key]
    target[where[-1]] = value
    file.write_bytes(put_together(table, header, payload, body))
    refused(file)


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


@pytest.mark.parametrize("version", [FORMAT_VERSION + 1, 10**6, 0, -1, True, 1.5, "1", None])
def test_other_versions(version: Any, good: bytes, tmp_path: Path) -> None:
    table, header, payload, body = take_apart(good)
    (tmp_path / "model").write_bytes(put_together(table, {**header, "version": version}, payload, body))
    newer = type(version) is int and version > FORMAT_VERSION
    refused(tmp_path / "model", match="upgrade vmtl" if newer else "not a vmtl file")


@pytest.mark.parametrize(
    "text", ['"\\ud800"', "[1]", "null", "{", "1" * 10_000, "[" * 100_000], ids=lambda text: text[:8]
)
def test_headers_that_are_not_objects(text: str, tmp_path: Path) -> None:
    for raw in (text, json.dumps({"__metadata__": {"vmtl": text}}), '{"__metadata__": {"vmtl": ' + text[:5000] + "}}"):
        data = raw.encode()
        (tmp_path / "model").write_bytes(len(data).to_bytes(8, "little") + data)
        refused(tmp_path / "model", match="not a vmtl file")
