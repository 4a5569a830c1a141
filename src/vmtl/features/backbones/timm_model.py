"""``timm:NAME``: a pretrained network of the timm library, where that is installed."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from vmtl.features.backbones.base import Backbone, read_weights, torch_embed
from vmtl.features.transform import Transform


def build(name: str, weights: str | Path | None, n_threads: int | None) -> Backbone:
    """timm's network without its classifier, with the size, crop and scaling it was trained with.

    weights : a local checkpoint; without it timm gets the pretrained weights itself.
    """
    try:
        import timm
    except ImportError as error:
        raise ImportError(f"timm:{name} needs timm; install it or choose another backbone.") from error
    network = timm.create_model(name, pretrained=weights is None, num_classes=0)
    if weights is not None:
        network.load_state_dict(read_weights(weights), strict=False)
    config = timm.data.resolve_model_data_config(network)
    transform = Transform(
        size=int(config["input_size"][-1]),
        crop=float(config["crop_pct"]),
        mean=_rgb(config["mean"]),
        scale=_rgb(config["std"]),
    )
    return Backbone(f"timm:{name}", _digest(network), transform, torch_embed(network, n_threads))


def _rgb(values: Any) -> tuple[float, float, float]:
    """timm scales pixels from 0 to 1, ``Transform`` from 0 to 255."""
    red, green, blue = (255 * float(value) for value in values)
    return red, green, blue


def _digest(network: Any) -> str:
    digest = hashlib.sha256()
    for key, tensor in sorted(network.state_dict().items()):
        digest.update(key.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
