"""``vgg16``: the paper's backbone, 4,096 features after the second fully connected layer.

The paper removes the final classifier layer and keeps the rest, so the features are taken after that layer's ReLU:
they are not negative, and many are zero. (Dropout does nothing at prediction.)
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vmtl.vision.backbones.base import Backbone, file_digest, read_weights, torch_embed
from vmtl.vision.transform import IMAGENET

if TYPE_CHECKING:
    from torch import nn

LAYER_WIDTHS = (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0)  # 0: max pooling
_FEATURE_LAYERS = 5  # of the classifier: linear, ReLU, dropout, linear, ReLU


def build(weights: str | Path | None, n_threads: int | None) -> Backbone:
    """VGG16 with the usual ImageNet checkpoint, which must be at hand as a file."""
    if weights is None:
        raise ValueError("vgg16 needs its ImageNet checkpoint; pass weights=FILE (.pth or .safetensors).")
    import torch

    with torch.device("meta"):  # no time for random weights that the checkpoint replaces
        network = make_vgg16()
    try:
        network.load_state_dict(read_weights(weights), assign=True)
    except RuntimeError as error:
        raise ValueError(f"{weights} lacks the usual names of VGG16's parameters; give another.") from error
    network.classifier = network.get_submodule("classifier")[:_FEATURE_LAYERS]  # type: ignore[index]
    return Backbone("vgg16", file_digest(weights), IMAGENET, torch_embed(network.float(), n_threads))


def make_vgg16() -> nn.Module:
    """The plain torch module: 138,357,544 parameters named as in the published checkpoint, randomly set."""
    from torch import Tensor, nn

    class VGG16(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            layers: list[nn.Module] = []
            channels = 3
            for width in LAYER_WIDTHS:
                if width:
                    layers += [nn.Conv2d(channels, width, kernel_size=3, padding=1), nn.ReLU()]
                    channels = width
                else:
                    layers.append(nn.MaxPool2d(2))
            self.features = nn.Sequential(*layers)
            self.avgpool = nn.AdaptiveAvgPool2d(7)
            self.classifier = nn.Sequential(
                nn.Linear(512 * 7 * 7, 4096),
                nn.ReLU(),
                nn.Dropout(),
                nn.Linear(4096, 4096),
                nn.ReLU(),
                nn.Dropout(),
                nn.Linear(4096, 1000),
            )

        def forward(self, images: Tensor) -> Tensor:
            pooled: Tensor = self.avgpool(self.features(images))  # (n, 512, 7, 7)
            out: Tensor = self.classifier(pooled.flatten(1))
            return out

    return VGG16()
