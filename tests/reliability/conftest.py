"""The toy problem of the reliability tests, and the bytes of a good model file."""

from __future__ import annotations

import pytest

from helpers.reliable import Toy, make_toy
from vmtl import MultiTaskClassifier


@pytest.fixture(scope="session")
def toy() -> Toy:
    return make_toy()


@pytest.fixture(scope="module")
def good(quick_inference: None, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    toy, file = make_toy(n=30), tmp_path_factory.mktemp("good") / "model"
    MultiTaskClassifier(max_steps=3, random_state=0).fit(toy.X, toy.labels, tasks=toy.tasks).save(file)
    return file.read_bytes()
