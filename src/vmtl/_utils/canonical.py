"""One layout for the tensors of a fitted model, so that equal numbers give equal bits.

A matrix product may round differently when the same numbers lie transposed, or at another offset in memory; which
processors do so is not ours to know. A file holds its tensors row by row, and so does a model that could be saved.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

#: Where torch's own memory begins: at a multiple of this many bytes.
ALIGNMENT = 64


def make_canonical(module: nn.Module) -> None:
    """Give every parameter and buffer row-major memory of its own."""
    for tensor in (*module.parameters(), *module.buffers()):
        tensor.data = tensor.detach().clone(memory_format=torch.contiguous_format)


def canonical(tensor: Tensor) -> Tensor:
    """The tensor itself, or a copy in row-major memory of its own."""
    return tensor if is_canonical(tensor) else tensor.detach().clone(memory_format=torch.contiguous_format)


def is_canonical(tensor: Tensor) -> bool:
    """Whether a tensor lies as a new one of its shape would, axes of length 1 included."""
    return tensor.stride() == torch.empty(tensor.shape, device="meta").stride() and not (
        tensor.data_ptr() % ALIGNMENT or tensor.storage_offset()
    )
