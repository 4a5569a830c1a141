"""One fit, one record: a tool, or a labelled source tree of VMTL, on a split of a set."""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.development.sets import DevelopmentSet, development_sets
from benchmarks.development.tools import OURS, PEERS
from benchmarks.peers.jobs import append, read
from benchmarks.peers.peer import Prediction, Shape
from benchmarks.peers.scores import score
from benchmarks.peers.sets import Problem

Record = dict[str, Any]
#: Goes up when the sets or the peers change such that records do.
REVISION = 1


@dataclass(frozen=True)
class Job:
    """``tool`` is a peer, or ``vmtl:label``."""

    set: str
    split: int
    half: str
    tool: str
    revision: int = REVISION

    @property
    def id(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]

    def __str__(self) -> str:
        return f"{self.tool} on {self.set}, split {self.split}"


def plan(sets: Sequence[DevelopmentSet], tools: Sequence[str], splits: Sequence[int], half: str) -> list[Job]:
    """One split after the other, so that an unfinished run has whole splits."""
    return [Job(one.name, split, half, tool) for split in splits for one in sets for tool in tools]


def run(job: Job) -> Record:
    """Fit, predict and score; seconds are processor seconds of fit and prediction."""
    one = development_sets(job.half)[job.set]
    problem = one.load(job.split, job.half)
    tool = PEERS[job.tool]() if job.tool in PEERS else OURS()
    wall, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = tool.fit_predict(problem.train, problem.test, Shape.of(problem), seed=job.split)
    cost = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    scores = {**score(problem, found), **(seen_and_missing(problem, found) if one.lacking else {})}
    return {
        "id": job.id,
        **asdict(job),
        "group": one.group,
        "kind": problem.kind,
        "n_train": len(problem.train),
        "n_columns": problem.train.X.shape[1],
        "n_tasks": problem.n_tasks,
        "n_classes": problem.n_classes,
        "scores": _rounded(scores),
        "chosen": found.chosen,
        **_rounded(cost),
        "date": time.strftime("%Y-%m-%d"),
    }


def seen_and_missing(problem: Problem, found: Prediction) -> dict[str, float]:
    """Of the only task that is tested: recall of the class it lacks, accuracy on the others, their harmonic mean."""
    task = problem.test.task[0]
    lacks = ~np.isin(problem.test.y, problem.train.y[problem.train.task == task])
    assert found.p is not None
    right = np.asarray(found.p).argmax(axis=1) == problem.test.y
    recall, seen = float(right[lacks].mean()), float(right[~lacks].mean())
    return {"recall": recall, "seen": seen, "harmonic": 2 * recall * seen / max(recall + seen, 1e-9)}


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: float(f"{value:.6g}") for name, value in values.items()}


def run_all(jobs: Sequence[Job], file: Path, workers: int, told: Callable[[str], None]) -> list[str]:
    """Run the jobs that have no record; the sentences of those that failed."""
    done, failed, start = read(file), [], time.perf_counter()
    left = [job for job in jobs if job.id not in done]
    for place, (job, record, problem) in enumerate(_results(left, workers), start=1):
        if record is None:
            failed.append(f"{job}: {problem}")
        else:
            append(file, record)
        said = f"failed: {problem}" if record is None else _brief(record)
        told(f"{place}/{len(left)} {(time.perf_counter() - start) / 60:.1f} min  {job}: {said}")
    return failed


def _brief(record: Record) -> str:
    first = "rmse" if record["kind"] == "regression" else "nll"
    return f"{first} {record['scores'][first]:.4g}, {record['cpu_seconds']:.1f} s"


def _results(jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, Record | None, str]]:
    if workers == 1:
        for job in jobs:
            yield (job, *_attempt(job))
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_one_thread) as pool:
        running = {pool.submit(_attempt, job): job for job in jobs}
        for future in as_completed(running):
            yield (running[future], *future.result())


def _attempt(job: Job) -> tuple[Record | None, str]:
    try:
        return run(job), ""
    except Exception as error:  # a tool may fail in any way; the others go on
        return None, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _one_thread() -> None:
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))


def forget(file: Path, jobs: Sequence[Job]) -> None:
    """Leave out the records of the jobs."""
    gone = {job.id for job in jobs}
    kept = [record for key, record in read(file).items() if key not in gone]
    new = file.with_suffix(".new")
    new.write_text("".join(json.dumps(record) + "\n" for record in kept), encoding="utf-8")
    os.replace(new, file)
