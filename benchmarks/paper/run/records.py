"""Records as JSON lines: each with its checksum, appended in one write, torn lines recognised and dropped.

A line is ``<sha256, 16 digits> <JSON>``. Only one process writes to a folder at a time; it holds the folder's
lock. Killed in the middle of a write it leaves a line whose checksum does not fit: that job counts as not done.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from vmtl._utils.json_values import Document

Record = Document
#: Parts of a record that differ between two runs of the same job.
COSTS = ("cost", "host")
FILE, LOCK = "records.jsonl", "lock"


@dataclass(frozen=True)
class Loaded:
    """The sound records of a folder by job id, and a sentence for everything that was wrong."""

    records: dict[str, Record] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def encode(record: Mapping[str, object]) -> bytes:
    """One line of the file, with its end."""
    text = json.dumps(record, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return f"{_checksum(text)} {text}\n".encode()


def decode(line: bytes) -> Record | None:
    """The record of a line without its end, or None where the line is not what was written."""
    try:
        checksum, _, text = line.decode().partition(" ")
        return json.loads(text) if checksum == _checksum(text) else None
    except ValueError:
        return None


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def load_records(folder: str | Path) -> Loaded:
    """Read a folder's records; a damaged line is reported and its job counts as not done."""
    file = Path(folder) / FILE
    if not file.is_file():
        return Loaded()
    records: dict[str, Record] = {}
    problems = []
    for number, line in enumerate(file.read_bytes().split(b"\n"), start=1):
        if not line:
            continue
        record = decode(line)
        if record is None:
            problems.append(f"Line {number} of {file} is damaged; its job will be computed again.")
        elif record["id"] in records:
            problems.append(f"Line {number} of {file} repeats job {record['id']}; the first line counts.")
        else:
            records[record["id"]] = record
    return Loaded(records, tuple(problems))


def comparable(record: Mapping[str, object]) -> Record:
    """A record without what it cost and where it ran."""
    return {name: value for name, value in record.items() if name not in COSTS}


class RecordWriter:
    """Appends records to a folder whose lock is held; given by ``open_records``."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE
        self._drop_torn_end()

    def append(self, record: Mapping[str, object]) -> None:
        """Add one line by one write, and wait until it is on the disk."""
        line = encode(record)
        descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            written = os.write(descriptor, line)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if written != len(line):
            raise OSError(f"{self._file} took only a part of a record; make room on the disk and start again.")

    def _drop_torn_end(self) -> None:
        if not self._file.is_file():
            return
        content = self._file.read_bytes()
        end = content.rfind(b"\n") + 1
        if end < len(content):
            os.truncate(self._file, end)


@contextmanager
def open_records(folder: str | Path) -> Iterator[tuple[RecordWriter, Loaded]]:
    """Lock a folder for writing: its writer and what it holds already; a second run is refused."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    lock = FileLock(place / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise RuntimeError(f"Another run is writing to {place}; wait for it or choose another --out.") from None
    try:
        loaded = load_records(place)  # before the writer drops a torn end
        yield RecordWriter(place), loaded
    finally:
        lock.release()
