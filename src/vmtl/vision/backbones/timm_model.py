"""``timm:NAME``: a pretrained network of the timm library, where that is installed."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from vmtl.vision.backbones.base import Backbone, read_weights, torch_embed
from vmtl.vision.transform import Transform

if TYPE_CHECKING:
    import torch


def build(name: str, weights: str | Path | None, n_threads: int | None) -> Backbone:
    """timm's network without its classifier, with the size, crop and scaling it was trained with.

    weights : a local checkpoint with timm's parameter names; without it timm gets the pretrained weights itself.
    Images are resized bicubically and cropped centrally, also for the few networks trained with another filter.
    """
    timm = _import_timm(name)
    try:
        network = timm.create_model(name, pretrained=weights is None, num_classes=0)
    except Exception as error:  # unknown names and failed downloads have many types
        raise ValueError(f"timm cannot make {name!r} ({error}); check the name, or pass weights=FILE.") from error
    if weights is not None:
        _load(network, weights, name)
    config = timm.data.resolve_model_data_config(network)
    transform = Transform(
        size=int(config["input_size"][-1]),
        crop=float(config["crop_pct"]),
        mean=_rgb(config["mean"]),
        scale=_rgb(config["std"]),
    )
    return Backbone(f"timm:{name}", _digest(network), transform, torch_embed(network, n_threads))


def _import_timm(name: str) -> ModuleType:
    try:
        return importlib.import_module("timm")
    except Exception as error:  # timm imports torchvision, which fails in many ways beside another torch
        if isinstance(error, ModuleNotFoundError) and error.name == "timm":
            raise ImportError(f"timm:{name} needs timm; install it or choose another backbone.") from error
        raise ImportError(
            f"timm is installed but cannot be imported ({error}); install the torchvision that belongs to your "
            "torch, or choose another backbone."
        ) from error


def _load(network: torch.nn.Module, weights: str | Path, name: str) -> None:
    """Fill the network; only what belongs to the removed classifier may be left over."""
    try:
        missing = network.load_state_dict(read_weights(weights), strict=False).missing_keys
    except RuntimeError as error:
        raise ValueError(f"{weights} holds parameters of other shapes than {name}; give another.") from error
    if missing:
        raise ValueError(f"{weights} lacks {len(missing)} parameters of {name}, such as {missing[0]}; give another.")


def _rgb(values: Iterable[float]) -> tuple[float, float, float]:
    """timm scales pixels from 0 to 1, ``Transform`` from 0 to 255."""
    red, green, blue = (255 * float(value) for value in values)
    return red, green, blue


def _digest(network: torch.nn.Module) -> str:
    digest = hashlib.sha256()
    for key, tensor in sorted(network.state_dict().items()):
        digest.update(key.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
