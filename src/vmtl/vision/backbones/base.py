"""What a backbone is: a function from scaled images to features, and all that identifies it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vmtl._utils.types import Array
from vmtl.vision.transform import Transform

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class Backbone:
    """``embed`` maps (n, 3, H, W) float32 to (n, D) float32; ``fingerprint`` names its weights by content."""

    name: str
    fingerprint: str
    transform: Transform
    embed: Callable[[Array], Array]

    @property
    def recipe(self) -> str:
        """What features depend on beside the image, for the cache."""
        return f"{self.name}|{self.fingerprint}|{self.transform!r}"


def file_digest(path: str | Path) -> str:
    """SHA-256 of a file's content."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_weights(path: str | Path) -> dict[str, torch.Tensor]:
    """A checkpoint as name -> tensor, from ``.safetensors`` or a torch file; no code in it is ever run."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no weight file {path}; check the path.")
    if Path(path).suffix == ".safetensors":
        from safetensors.torch import load_file

        return dict(load_file(path))
    import torch

    return dict(torch.load(path, map_location="cpu", weights_only=True))


def torch_embed(network: torch.nn.Module, n_threads: int | None) -> Callable[[Array], Array]:
    """Run a torch module as ``embed``."""
    import torch

    from vmtl._utils.threads import threads

    network = network.eval()

    def embed(images: Array) -> Array:
        with threads(n_threads), torch.inference_mode():
            return np.asarray(network(torch.from_numpy(images)).numpy())

    return embed
