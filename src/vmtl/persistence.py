"""One-file models and checkpoints: safetensors with a versioned JSON header and checksums; never pickle."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

FORMAT_VERSION = 1
#: Longest header that is read, in bytes; a real one has a few hundred kilobytes at most.
MAX_HEADER = 64 * 2**20
KEY = "vmtl"


class ModelFileError(ValueError):
    """A file that is not a model or checkpoint of this library, or is damaged."""


def write_atomically(path: Path, data: bytes) -> None:
    """Write to a temporary name beside ``path``, flush to disk, then rename: all or nothing."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def save(path: str | Path, kind: str, payload: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write ``payload`` (JSON) and ``tensors`` to one file."""
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(payload, ensure_ascii=True, allow_nan=False, sort_keys=True)
    plain = save_tensors(contiguous)
    size = int.from_bytes(plain[:8], "little")
    header = {
        "version": FORMAT_VERSION,
        "kind": kind,
        "tensor_sha256": _tensor_digest(json.loads(plain[8 : 8 + size]), plain[8 + size :]),
        "payload_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "payload": text,
    }
    write_atomically(Path(path), save_tensors(contiguous, metadata={KEY: json.dumps(header)}))


def load(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read a file written by ``save``; anything else is one clear ``ModelFileError``."""
    path = Path(path)
    try:
        length = path.stat().st_size
        with path.open("rb") as stream:
            start = stream.read(8)
            size = int.from_bytes(start, "little")
            if len(start) < 8 or not 2 <= size <= min(MAX_HEADER, length - 8):
                raise ModelFileError(_foreign(path))
            raw = stream.read(size)
            table = _parse(path, raw)
            header = _read_header(path, table, kind)
            body = stream.read()
    except IsADirectoryError:
        raise ModelFileError(f"{path} is a folder; give the path of a model file.") from None
    if header["tensor_sha256"] != _tensor_digest(table, body):
        raise ModelFileError(f"{path} is damaged: its checksum does not match; copy or save it again.")
    payload: dict[str, Any] = json.loads(header["payload"])
    try:
        tensors = load_tensors(start + raw + body)
    except Exception as error:
        raise ModelFileError(f"{path} is damaged: {error}; copy or save it again.") from None
    return payload, tensors


def _foreign(path: Path) -> str:
    return f"{path} is not a vmtl file, or it is cut short; give a file written by save()."


def _parse(path: Path, raw: bytes) -> dict[str, Any]:
    try:
        table = json.loads(raw)
    except (ValueError, RecursionError):
        raise ModelFileError(_foreign(path)) from None
    if not isinstance(table, dict):
        raise ModelFileError(_foreign(path))
    return table


def _read_header(path: Path, table: dict[str, Any], kind: str) -> dict[str, Any]:
    metadata = table.get("__metadata__")
    text = metadata.get(KEY) if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise ModelFileError(_foreign(path))
    header = _parse(path, text.encode())
    version = header.get("version")
    if not isinstance(version, int):
        raise ModelFileError(_foreign(path))
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format version {version}, this vmtl reads up to {FORMAT_VERSION}; upgrade vmtl."
        )
    fields = ("kind", "tensor_sha256", "payload_sha256", "payload")
    if not all(isinstance(header.get(field), str) for field in fields):
        raise ModelFileError(_foreign(path))
    if hashlib.sha256(header["payload"].encode()).hexdigest() != header["payload_sha256"]:
        raise ModelFileError(f"{path} is damaged: its header does not match; copy or save it again.")
    if header["kind"] != kind:
        raise ModelFileError(f"{path} is a {header['kind']} file; a {kind} file is needed here.")
    return header


def _tensor_digest(table: dict[str, Any], body: bytes) -> str:
    """SHA-256 of the tensor bytes and of the names, types and places they have."""
    layout = {name: entry for name, entry in table.items() if name != "__metadata__"}
    digest = hashlib.sha256(json.dumps(layout, sort_keys=True).encode())
    digest.update(body)
    return digest.hexdigest()
