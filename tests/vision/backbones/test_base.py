"""Weights of backbones, read without running anything."""

from __future__ import annotations

from pathlib import Path

import torch

from vmtl.vision.backbones.base import read_weights


def test_weights_are_read_from_safetensors_too(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    weights = {"a": torch.arange(3.0)}
    save_file(weights, tmp_path / "w.safetensors")
    assert torch.equal(read_weights(tmp_path / "w.safetensors")["a"], weights["a"])
