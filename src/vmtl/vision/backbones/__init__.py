"""Backbones by name: ``efficientnet_lite0``, ``vgg16``, ``onnx:FILE``, ``timm:NAME``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from vmtl.vision.backbones import efficientnet_lite0, onnx_file, timm_model, vgg16
from vmtl.vision.backbones.base import Backbone

__all__ = ["BACKBONES", "Backbone", "load_backbone"]

BACKBONES: dict[str, Callable[[str | Path | None, int | None], Backbone]] = {
    "efficientnet_lite0": efficientnet_lite0.build,
    "vgg16": vgg16.build,
}


def load_backbone(name: str, *, weights: str | Path | None = None, n_threads: int | None = None) -> Backbone:
    """Build a backbone; ``weights`` is a local checkpoint, ``n_threads`` how many threads it may use.

    Parameters
    ----------
    name : str
        ``efficientnet_lite0``, ``vgg16``, ``onnx:FILE`` or ``timm:NAME``.
    weights : path, default=None
        A local checkpoint.
    n_threads : int, default=None
        Threads that it may use; None is all cores.
    """
    kind, _, rest = name.partition(":")
    if kind == "onnx" and rest:
        return onnx_file.build(rest, n_threads)
    if kind == "timm" and rest:
        return timm_model.build(rest, weights, n_threads)
    if name not in BACKBONES:
        known = ", ".join(BACKBONES)
        raise ValueError(f"There is no backbone {name!r}; use {known}, onnx:FILE or timm:NAME.")
    return BACKBONES[name](weights, n_threads)
