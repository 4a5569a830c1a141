"""Files that are written all or nothing."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


def write_atomically(path: Path, *parts: bytes) -> None:
    """Write a whole file: all or nothing."""
    with written_atomically(path) as stream:
        for part in parts:
            stream.write(part)


@contextmanager
def written_atomically(path: Path) -> Iterator[BinaryIO]:
    """A file with a temporary name beside ``path``: flushed to disk and renamed at the end, removed after an error."""
    name = path.parent / f"{temporary_prefix(path)}{os.getpid()}-{secrets.token_hex(4)}.tmp"
    try:
        with name.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            name.unlink()
        raise
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def temporary_prefix(path: Path) -> str:
    """How the names of half-written files beside ``path`` begin."""
    return f".{path.name[:100]}."
