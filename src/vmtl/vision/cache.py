"""Features that were computed before: one SQLite file, keyed by image content, backbone and transform."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from pathlib import Path
from types import TracebackType

import numpy as np

from vmtl._utils.types import Array

_COMMIT_EVERY = 32


def cache_folder() -> Path:
    """``VMTL_CACHE``, else ``vmtl`` in the user's cache folder."""
    if named := os.environ.get("VMTL_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vmtl"


def content_key(data: bytes, recipe: str) -> bytes:
    """A key of what features depend on: the file's bytes and the recipe (backbone, weights, transform)."""
    return hashlib.blake2b(hashlib.sha256(data).digest() + recipe.encode(), digest_size=24).digest()


class FeatureCache:
    """A persistent map from keys to vectors; what was put survives when the process is stopped.

    Use as a context manager; several processes may share one folder.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.path = (cache_folder() if folder is None else Path(folder)) / "features.sqlite"

    def __enter__(self) -> FeatureCache:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._pending = 0
        self._base = sqlite3.connect(self.path, timeout=60)
        try:
            self._base.execute("CREATE TABLE IF NOT EXISTS features (key BLOB PRIMARY KEY, vector BLOB)")
        except sqlite3.DatabaseError as error:
            self._base.close()
            raise ValueError(f"{self.path} is not a feature cache ({error}); delete it.") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._base.commit()
        self._base.close()

    def get(self, key: bytes) -> Array | None:
        row = self._base.execute("SELECT vector FROM features WHERE key = ?", (key,)).fetchone()
        return None if row is None else np.frombuffer(row[0], dtype=np.float32)

    def put(self, key: bytes, vector: Array) -> None:
        data = np.ascontiguousarray(vector, dtype=np.float32).tobytes()
        self._base.execute("INSERT OR REPLACE INTO features VALUES (?, ?)", (key, data))
        self._pending += 1
        if self._pending % _COMMIT_EVERY == 0:
            self._base.commit()
