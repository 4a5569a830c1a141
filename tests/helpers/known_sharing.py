"""Strength and decay that a test chooses, and B as a table."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from vmtl.inference.structure.covariance import DenseCovariance, TaskCovariance


@dataclass(frozen=True)
class Given:
    """Strength and decay that are known."""

    strength: float = 0.9
    decay: float = 1.0

    def draw_sharing(self, draws: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        return torch.full((draws,), self.strength).double(), torch.full((draws,), self.decay).double()


def matrix_of(covariance: TaskCovariance) -> Tensor:
    assert isinstance(covariance, DenseCovariance)
    return covariance.matrix
