"""Model files taken apart, changed and put together again."""

from __future__ import annotations

import hashlib
import json
import resource
from pathlib import Path
from typing import Any

import pytest

import vmtl
from helpers.reliable import make_toy
from vmtl._utils.tensor_files import ModelFileError

MEGABYTE = 2**20


def predictions(model: Any) -> Any:
    toy = make_toy(n=30, seed=1)
    return model.predict_proba(toy.X, tasks=toy.tasks)


def take_apart(data: bytes) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any], bytes]:
    """The table of tensors, the header, the payload and the tensor bytes of a file."""
    size = int.from_bytes(data[:8], "little")
    table = json.loads(data[8 : 8 + size])
    header = json.loads(table.pop("__metadata__")["vmtl"])
    return table, header, json.loads(header["payload"]), data[8 + size :]


def put_together(table: dict[str, Any], header: dict[str, Any], payload: Any, body: bytes) -> bytes:
    """A file whose checksums are right, whatever it says: what a hostile author would write."""
    text = json.dumps(payload)
    layout = hashlib.sha256(json.dumps(table, sort_keys=True).encode() + body).hexdigest()
    digest = hashlib.sha256(text.encode()).hexdigest()
    header = {**header, "payload": text, "payload_sha256": digest, "tensor_sha256": layout}
    raw = json.dumps({"__metadata__": {"vmtl": json.dumps(header)}, **table}).encode()
    raw += b" " * (-len(raw) % 8)
    return len(raw).to_bytes(8, "little") + raw + body


def refused(file: Path, match: str | None = None) -> None:
    """Loading is one ModelFileError of one line, without much memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ModelFileError, match=match) as caught:
        vmtl.load(file)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 600 * MEGABYTE
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000
