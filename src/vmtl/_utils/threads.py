"""Where torch computes: on which device, and with how many threads for the length of a call."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral

import torch

_lock = threading.Lock()
_inside = 0
_before = 0


def check_threads(count: object) -> None:
    """None, or a positive integer."""
    if count is not None and (not isinstance(count, Integral) or count < 1):
        raise ValueError(f"n_threads must be a positive integer or None; got {count!r}.")


def check_device(device: str) -> None:
    """A device that this machine's torch can use."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).split("\n")[0][:200]
        raise ValueError(f"device={device!r} cannot be used here ({reason}); set device='cpu'.") from None


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """Torch with ``count`` threads; the old number is back when the last of several concurrent calls has ended."""
    global _inside, _before
    if count is None:
        yield
        return
    check_threads(count)
    with _lock:
        if _inside == 0:
            _before = torch.get_num_threads()
        _inside += 1
        torch.set_num_threads(int(count))
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                torch.set_num_threads(_before)
