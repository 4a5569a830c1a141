"""Small folders of images and a backbone that needs no weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from helpers.images import write_images, write_network
from vmtl._utils.types import Array
from vmtl.vision import Backbone, Transform


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests leave the user's cache folder alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VMTL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def images(tmp_path: Path) -> Path:
    return write_images(tmp_path / "images")


class Counting:
    """Channel means as features; counts its calls and can stop in the middle."""

    def __init__(self) -> None:
        self.calls = 0
        self.stop_at: int | None = None

    def __call__(self, images: Array) -> Array:
        if self.calls == self.stop_at:
            raise KeyboardInterrupt
        self.calls += 1
        return np.asarray(images.mean(axis=(2, 3)))


@pytest.fixture
def counting() -> Counting:
    return Counting()


@pytest.fixture
def backbone(counting: Counting) -> Backbone:
    return Backbone("counting", "0", Transform(size=16), counting)


@pytest.fixture
def onnx_file(tmp_path: Path) -> Path:
    return write_network(tmp_path / "net.onnx")
