"""Fixed feature maps: raw columns to the features an encoder reads; and the simplest, one scale for all columns."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vmtl.inference.features.views import TINY


class FeatureMap(nn.Module):
    """x (T, N, D) to features (T, N, F); ``task`` says which slice belongs to which task."""

    def forward(self, x: Tensor, task: Tensor | None = None) -> Tensor:
        raise NotImplementedError


class ScaledMap(FeatureMap):
    """(x - mean) / sqrt(mean squared norm of the centred training rows), or x as it is if ``identity``."""

    mean: Tensor
    scale: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("scale", torch.ones(()))

    @classmethod
    def identity(cls, size: int) -> ScaledMap:
        """Columns as they are."""
        return cls(size)

    @classmethod
    def fitted(cls, x: Tensor, weight: Tensor) -> ScaledMap:
        """Centred rows x (n, D) with mean squared norm 1, by the weights (n,)."""
        scaled_map = cls(x.shape[1])
        share = (weight / weight.sum()).to(torch.float64)
        scaled_map.mean = share @ x.double()
        scaled_map.scale = (share @ (x.double() - scaled_map.mean).square().sum(-1)).sqrt().clamp_min(TINY)
        return scaled_map

    def forward(self, x: Tensor, task: Tensor | None = None) -> Tensor:
        scaled: Tensor = (x - self.mean) / self.scale
        return scaled
