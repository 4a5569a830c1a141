"""A file that was changed anywhere is refused, or its predictions are numbers."""

from __future__ import annotations

import copy
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vmtl
from helpers.model_files import MEGABYTE, predictions, put_together, take_apart
from vmtl._utils.tensor_files import ModelFileError


@pytest.fixture(scope="module")
def reference(good: bytes, tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("reference") / "model"
    file.write_bytes(good)
    return predictions(vmtl.load(file))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutants") / "mutant"


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
    paths = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        paths += leaves(part, (*path, key))
    return paths


def check_bytes(file: Path, good: bytes, reference: Any, mutant: bytes) -> None:
    """A changed file is refused, or the change was one that means nothing (blanks) and the model is the same."""
    file.write_bytes(mutant)
    try:
        model = vmtl.load(file)
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
        model = vmtl.load(file)
    except ModelFileError:
        pass
    else:
        try:
            predicted = predictions(model)
        except ValueError:
            pass
        else:
            assert np.isfinite(predicted).all()


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
