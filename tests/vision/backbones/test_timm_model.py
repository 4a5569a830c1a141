"""Networks of timm, where that is installed."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from helpers.images import some_images
from vmtl.vision import load_backbone


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
