"""The toy problem of the reliability tests, and the bytes of a good model file."""

from __future__ import annotations

import pytest

from helpers.reliable import Toy, make_toy
from vmtl import MultiTaskClassifier, VMTLClassifier


@pytest.fixture(scope="session")
def toy() -> Toy:
    return make_toy()


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    toy, file = make_toy(n=30), tmp_path_factory.mktemp("good") / "model"
    MultiTaskClassifier(random_state=0).fit(toy.X, toy.labels, tasks=toy.tasks).save(file)
    return file.read_bytes()


@pytest.fixture(scope="module")
def good_paper(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The same of the paper's system."""
    toy, file = make_toy(n=30), tmp_path_factory.mktemp("good") / "model"
    model = VMTLClassifier(encoder="linear", latent_dim=8, max_steps=3, random_state=0)
    model.fit(toy.X, toy.labels, tasks=toy.tasks).save(file)
    return file.read_bytes()
