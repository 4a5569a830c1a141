"""``onnx:FILE``: any exported network, run by onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vmtl._utils.missing_extra import require
from vmtl._utils.types import Array
from vmtl.vision.backbones.base import Backbone, file_digest
from vmtl.vision.transform import IMAGENET

if TYPE_CHECKING:
    from onnxruntime import InferenceSession


def build(weights: str | Path | None, n_threads: int | None) -> Backbone:
    """A network with one image input; its first output is the feature vector, averaged over positions.

    Images are scaled by ImageNet's mean and deviation; exchange ``Backbone.transform`` for another scaling.
    """
    if weights is None or not Path(weights).is_file():
        raise FileNotFoundError(f"There is no ONNX file {weights or ''}; write onnx: and its path.")
    session = open_session(weights, n_threads)
    shape = session.get_inputs()[0].shape
    sides = [side for side in shape[1:] if isinstance(side, int) and side != 3]
    transform = replace(IMAGENET, size=sides[0]) if sides else IMAGENET
    return Backbone("onnx", file_digest(weights), transform, session_embed(session))


def open_session(path: str | Path, n_threads: int | None) -> InferenceSession:
    """An onnxruntime session on the CPU."""
    require("images", "A network in an ONNX file", "onnxruntime")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads or 0
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own errors share no base class
        raise ValueError(f"onnxruntime cannot run {path} ({error}); export it again.") from error


def session_embed(session: InferenceSession) -> Callable[[Array], Array]:
    """Run a session as ``embed``, image by image: larger batches are slower on a CPU."""
    entry = session.get_inputs()[0]
    channels_last = entry.shape[-1] == 3

    def embed(images: Array) -> Array:
        if channels_last:
            images = images.transpose(0, 2, 3, 1)
        outputs = [session.run(None, {entry.name: image[None]})[0] for image in np.ascontiguousarray(images)]
        features = np.concatenate(outputs)
        if features.ndim == 4 and not channels_last:  # (n, D, h, w)
            return np.asarray(features.mean(axis=(2, 3)))
        return np.asarray(features.mean(axis=tuple(range(1, features.ndim - 1))))  # (n, ..., D)

    return embed
