"""Small folders of images and a backbone that needs no weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

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
    """Two domains, two classes, three images each, of different sizes and modes."""
    rng = np.random.default_rng(0)
    root = tmp_path / "images"
    for domain in ("art", "photo"):
        for category in ("cat", "dog"):
            (root / domain / category).mkdir(parents=True)
            for i, mode in enumerate(("RGB", "L", "RGBA")):
                pixels = rng.integers(0, 256, (40 + 10 * i, 50, 4), dtype=np.uint8)
                Image.fromarray(pixels, "RGBA").convert(mode).save(root / domain / category / f"{i}.png")
    return root


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
    """A network that gives the three channel maps of a 16 x 16 image."""
    from onnx import TensorProto, helper, save

    entry = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, 16, 16])
    out = helper.make_tensor_value_info("maps", TensorProto.FLOAT, ["n", 3, 16, 16])
    graph = helper.make_graph([helper.make_node("Relu", ["image"], ["maps"])], "relu", [entry], [out])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    save(model, tmp_path / "net.onnx")
    return tmp_path / "net.onnx"
