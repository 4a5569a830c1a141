"""Any exported network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers.images import some_images
from vmtl.vision import IMAGENET, load_backbone


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
