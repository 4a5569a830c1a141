"""Random images as backbones take them, as files in folders, and a network that needs no weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def some_images(size: int = 224) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((2, 3, size, size)).astype(np.float32)


def write_images(root: Path) -> Path:
    """Two domains, two classes, three images each, of different sizes and modes."""
    from PIL import Image

    rng = np.random.default_rng(0)
    for domain in ("art", "photo"):
        for category in ("cat", "dog"):
            (root / domain / category).mkdir(parents=True)
            for i, mode in enumerate(("RGB", "L", "RGBA")):
                pixels = rng.integers(0, 256, (40 + 10 * i, 50, 4), dtype=np.uint8)
                Image.fromarray(pixels, "RGBA").convert(mode).save(root / domain / category / f"{i}.png")
    return root


def write_network(file: Path) -> Path:
    """A network that gives the three channel maps of a 16 x 16 image."""
    from onnx import TensorProto, helper, save

    entry = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, 16, 16])
    out = helper.make_tensor_value_info("maps", TensorProto.FLOAT, ["n", 3, 16, 16])
    graph = helper.make_graph([helper.make_node("Relu", ["image"], ["maps"])], "relu", [entry], [out])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    save(model, file)
    return file
