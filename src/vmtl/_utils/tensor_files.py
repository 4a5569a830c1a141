"""One-file models and checkpoints: safetensors with a versioned JSON header and checksums; never pickle."""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from vmtl._utils.atomic_files import write_atomically
from vmtl._utils.json_values import Document

#: Files of other versions are not read: before the first release they promise nothing.
FORMAT_VERSION = 3
#: Longest header that is written or read, in bytes; a usual one has a few hundred kilobytes.
MAX_HEADER = 16 * 2**20
#: Most lists and objects in a header: empty ones are small in a file but not in memory.
MAX_CONTAINERS = 100_000
KEY = "vmtl"
_CHUNK = 2**20


class ModelFileError(ValueError):
    """A file that is not a model or checkpoint of this library, or is damaged."""


def save(path: str | Path, kind: str, payload: Mapping[str, object], tensors: Mapping[str, Tensor]) -> None:
    """Write ``payload`` (JSON) and ``tensors`` to one file."""
    separate = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(payload, ensure_ascii=True, allow_nan=False, sort_keys=True)
    data = save_tensors(separate)
    size = int.from_bytes(data[:8], "little")
    table, body = json.loads(data[8 : 8 + size]), data[8 + size :]
    header = {
        "version": FORMAT_VERSION,
        "kind": kind,
        "tensor_sha256": _digest(table, [body]),
        "payload_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "payload": text,
    }
    raw = json.dumps({"__metadata__": {KEY: json.dumps(header)}, **table}).encode()
    raw += b" " * (-len(raw) % 8)
    if len(raw) > MAX_HEADER or _containers(raw) > MAX_CONTAINERS:
        raise ValueError(
            f"The names of tasks, classes and columns fill {len(raw) >> 20} MB, a model file holds "
            f"{MAX_HEADER >> 20}; use shorter names."
        )
    write_atomically(Path(path), len(raw).to_bytes(8, "little"), raw, body)


def load(path: str | Path, kind: str) -> tuple[Document, dict[str, Tensor]]:
    """Read a file written by ``save``; anything else is one clear ``ModelFileError``.

    Nothing in the file is executed. The header is read first, at most ``MAX_HEADER`` bytes; the tensor
    bytes are hashed piece by piece and only then given memory.
    """
    path = Path(path)
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise ModelFileError(f"{path} is a folder; give the path of a model file.")
    if not stat.S_ISREG(status.st_mode):
        raise ModelFileError(_foreign(path))
    with path.open("rb") as stream:
        start = stream.read(8)
        size = int.from_bytes(start, "little")
        if len(start) < 8 or not 2 <= size <= min(MAX_HEADER, status.st_size - 8):
            raise ModelFileError(_foreign(path))
        raw = stream.read(size)
        if _containers(raw) > MAX_CONTAINERS:
            raise ModelFileError(_foreign(path))
        table = _parse(path, raw)
        header = _read_header(path, table, kind)
        payload = _parse(path, header["payload"])
        if _body_length(path, table) != status.st_size - 8 - size:
            raise ModelFileError(f"{path} is damaged: its length does not match; copy or save it again.")
        if header["tensor_sha256"] != _digest(table, _chunks(stream)):
            raise ModelFileError(f"{path} is damaged: its checksum does not match; copy or save it again.")
        stream.seek(0)
        data = stream.read()
    try:
        return payload, load_tensors(data)
    except Exception as error:
        raise ModelFileError(f"{path} is damaged: {error}; copy or save it again.") from None


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: stream.read(_CHUNK), b"")


def _foreign(path: Path) -> str:
    return f"{path} is not a vmtl file, or it is cut short; give a model written by `vmtl fit` or save()."


def _containers(raw: bytes) -> int:
    return raw.count(b"[") + raw.count(b"{")


def _parse(path: Path, raw: bytes | str) -> Document:
    try:
        table = json.loads(raw)
    except (ValueError, RecursionError):
        raise ModelFileError(_foreign(path)) from None
    if not isinstance(table, dict):
        raise ModelFileError(_foreign(path))
    return table


def _read_header(path: Path, table: Document, kind: str) -> Document:
    metadata = table.get("__metadata__")
    text = metadata.get(KEY) if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise ModelFileError(_foreign(path))
    header = _parse(path, text)
    version = header.get("version")
    if type(version) is not int or version < 1:
        raise ModelFileError(_foreign(path))
    if version < FORMAT_VERSION:
        raise ModelFileError(f"{path} was written by an earlier vmtl, whose files are not read any more; fit it again.")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format version {version}, this vmtl reads up to {FORMAT_VERSION}; upgrade vmtl."
        )
    fields = ("kind", "tensor_sha256", "payload_sha256", "payload")
    if not all(isinstance(header.get(field), str) for field in fields):
        raise ModelFileError(_foreign(path))
    if hashlib.sha256(header["payload"].encode(errors="replace")).hexdigest() != header["payload_sha256"]:
        raise ModelFileError(f"{path} is damaged: its header does not match; copy or save it again.")
    if header["kind"] != kind:
        raise ModelFileError(f"{path} is a {header['kind'][:40]!r} file; a {kind!r} file is needed here.")
    return header


def _body_length(path: Path, table: Document) -> int:
    """Where the last tensor ends, by the table of tensors."""
    try:
        entries = [entry for name, entry in table.items() if name != "__metadata__"]
        return max((int(entry["data_offsets"][1]) for entry in entries), default=0)
    except (TypeError, KeyError, IndexError, ValueError, OverflowError):
        raise ModelFileError(_foreign(path)) from None


def _digest(table: Document, body: Iterable[bytes]) -> str:
    """SHA-256 of the names, types and places of the tensors, and of their bytes."""
    layout = {name: entry for name, entry in table.items() if name != "__metadata__"}
    digest = hashlib.sha256(json.dumps(layout, sort_keys=True).encode())
    for part in body:
        digest.update(part)
    return digest.hexdigest()
