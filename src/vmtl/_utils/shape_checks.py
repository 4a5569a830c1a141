"""Whether stored tensors fit a module, checked before the module is given any memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

#: Bytes that a module may need beyond what its stored tensors explain.
SLACK = 256 * 2**20


def check_fits(make: Callable[[], nn.Module], tensors: Mapping[str, Tensor]) -> None:
    """Raise unless the module that ``make`` builds has exactly the names and shapes of ``tensors``.

    The module is built on torch's meta device, which has shapes but no memory, so that a small file that
    describes an enormous model costs nothing.
    """
    with torch.device("meta"):
        skeleton = make()
    expected = {name: tuple(tensor.shape) for name, tensor in skeleton.state_dict().items()}
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    for name in sorted(expected.keys() | shapes.keys()):
        if expected.get(name) != shapes.get(name):
            raise ValueError(f"{name} has shape {shapes.get(name)} where {expected.get(name)} is expected")
    needed = sum(t.numel() * t.element_size() for t in (*skeleton.parameters(), *skeleton.buffers()))
    stored = sum(t.numel() * t.element_size() for t in tensors.values())
    if needed > SLACK + 4 * stored:
        raise ValueError(f"the model needs {needed >> 20} MB but only {stored >> 20} MB are stored")
