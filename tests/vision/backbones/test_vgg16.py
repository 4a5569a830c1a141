"""VGG16, the paper's backbone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from helpers.images import some_images
from vmtl.vision import IMAGENET, load_backbone
from vmtl.vision.backbones import vgg16

#: The published checkpoint of VGG16 (torchvision's, ImageNet): where its parameters are and their shapes.
VGG16_WEIGHTS: dict[str, tuple[int, ...]] = {
    "features.0": (64, 3, 3, 3),
    "features.2": (64, 64, 3, 3),
    "features.5": (128, 64, 3, 3),
    "features.7": (128, 128, 3, 3),
    "features.10": (256, 128, 3, 3),
    "features.12": (256, 256, 3, 3),
    "features.14": (256, 256, 3, 3),
    "features.17": (512, 256, 3, 3),
    "features.19": (512, 512, 3, 3),
    "features.21": (512, 512, 3, 3),
    "features.24": (512, 512, 3, 3),
    "features.26": (512, 512, 3, 3),
    "features.28": (512, 512, 3, 3),
    "classifier.0": (4096, 25088),
    "classifier.3": (4096, 4096),
    "classifier.6": (1000, 4096),
}


def test_vgg16_has_the_published_names_and_shapes() -> None:
    with torch.device("meta"):
        network = vgg16.make_vgg16()
    shapes = {name: tuple(p.shape) for name, p in network.state_dict().items()}
    expected = {f"{layer}.weight": shape for layer, shape in VGG16_WEIGHTS.items()}
    expected |= {f"{layer}.bias": shape[:1] for layer, shape in VGG16_WEIGHTS.items()}
    assert shapes == expected
    assert sum(int(np.prod(shape)) for shape in shapes.values()) == 138_357_544


def plain_vgg16(weights: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """VGG16 up to its second fully connected layer and that layer's ReLU, written out function by function."""
    functional = torch.nn.functional
    for layer in [name for name in VGG16_WEIGHTS if name.startswith("features")]:
        x = functional.conv2d(x, weights[f"{layer}.weight"], weights[f"{layer}.bias"], padding=1).relu()
        if layer in ("features.2", "features.7", "features.14", "features.21", "features.28"):
            x = functional.max_pool2d(x, 2)
    x = x.flatten(1)  # (n, 512 * 7 * 7)
    for layer in ("classifier.0", "classifier.3"):
        x = functional.linear(x, weights[f"{layer}.weight"], weights[f"{layer}.bias"]).relu()
    return x


def test_a_vgg16_checkpoint_gives_its_features(tmp_path: Path) -> None:
    torch.manual_seed(0)
    weights = vgg16.make_vgg16().state_dict()
    torch.save(weights, tmp_path / "vgg16.pth")
    x = some_images()[:1]
    backbone = load_backbone("vgg16", weights=tmp_path / "vgg16.pth", n_threads=1)
    features = backbone.embed(x)
    assert features.shape == (1, 4096)
    assert (backbone.transform, backbone.transform.size) == (IMAGENET, 224)
    with torch.inference_mode():
        np.testing.assert_allclose(features, plain_vgg16(weights, torch.from_numpy(x)).numpy(), atol=1e-5)
    assert features.min() >= 0
    assert features.max() > 0


def test_vgg16_explains_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="weights=FILE"):
        load_backbone("vgg16")
    with pytest.raises(FileNotFoundError, match="no weight file"):
        load_backbone("vgg16", weights=tmp_path / "none.pth")
    torch.save({"fc.weight": torch.zeros(2)}, tmp_path / "other.pth")
    with pytest.raises(ValueError, match="lacks the usual names"):
        load_backbone("vgg16", weights=tmp_path / "other.pth")
