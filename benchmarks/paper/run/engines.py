"""Where jobs run: a process pool of the standard library, or a Ray cluster. Every job has one thread."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from benchmarks.paper.run.execute import execute
from benchmarks.paper.run.job import Job
from benchmarks.paper.run.records import Record
from vmtl._utils.json_values import Document
from vmtl._utils.ray_instance import ATTEMPTS, ONE_THREAD, import_ray, start_ray


@dataclass(frozen=True)
class Place:
    """Where a worker finds the data."""

    data: Path | None = None
    splits: Path | None = None


@dataclass(frozen=True)
class Finished:
    """A job with its record, or with a sentence about why it has none."""

    job: Job
    record: Record | None
    error: str | None = None


Engine = Callable[[Sequence[Job], Place, Callable[[Job], None]], Iterator[Finished]]


def _attempt(arguments: Document, place: Place) -> Record:
    """What a worker does; arguments travel as plain data."""
    return execute(Job.from_arguments(arguments), place.data, place.splits)


def local_engine(workers: int) -> Engine:
    """``workers`` spawned processes; a job whose process dies is tried again in a new pool."""

    def run(jobs: Sequence[Job], place: Place, started: Callable[[Job], None]) -> Iterator[Finished]:
        waiting = [(job, 1) for job in reversed(jobs)]
        while waiting:
            with _environment(ONE_THREAD), _pool(workers) as pool:
                yield from _drain(pool, workers, waiting, place, started)

    return run


def _drain(
    pool: ProcessPoolExecutor,
    workers: int,
    waiting: list[tuple[Job, int]],
    place: Place,
    started: Callable[[Job], None],
) -> Iterator[Finished]:
    """Keep ``workers`` jobs in the pool until none waits; a broken pool puts its jobs back and ends."""
    running: dict[Future[Record], tuple[Job, int]] = {}
    broken = False
    while running or (waiting and not broken):
        while waiting and len(running) < workers and not broken:
            job, attempt = waiting.pop()
            started(job)
            try:
                running[pool.submit(_attempt, job.arguments(), place)] = (job, attempt)
            except BrokenProcessPool:
                waiting.append((job, attempt))
                broken = True
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            job, attempt = running.pop(future)
            try:
                yield Finished(job, future.result())
            except BrokenProcessPool:
                broken = True
                if attempt < ATTEMPTS:
                    waiting.append((job, attempt + 1))
                else:
                    yield Finished(job, None, f"its process died {ATTEMPTS} times, perhaps for lack of memory")
            except Exception as error:
                yield Finished(job, None, f"{type(error).__name__}: {error}")


def _pool(workers: int) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent)


def _end_with_parent() -> None:
    """End this worker when the process that started it is gone, even if that was killed."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Environment variables for processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def ray_engine(workers: int, address: str | None) -> Engine:
    """A Ray cluster at ``address``, or one of its own with ``workers`` processes on this machine.

    Ray runs a job again when the worker or the machine under it dies.
    """
    ray = import_ray()

    def run(jobs: Sequence[Job], place: Place, started: Callable[[Job], None]) -> Iterator[Finished]:
        with start_ray(ray, workers, address):
            yield from _drain_ray(ray, jobs, place, workers, started)

    return run


def _drain_ray(
    ray: ModuleType, jobs: Sequence[Job], place: Place, workers: int, started: Callable[[Job], None]
) -> Iterator[Finished]:
    attempt = ray.remote(num_cpus=1, max_retries=ATTEMPTS)(_attempt)
    waiting = list(reversed(jobs))
    running: dict[object, Job] = {}
    while waiting or running:
        while waiting and len(running) < workers:
            job = waiting.pop()
            started(job)
            running[attempt.remote(job.arguments(), place)] = job
        done, _ = ray.wait(list(running), num_returns=1)
        for reference in done:
            job = running.pop(reference)
            try:
                yield Finished(job, ray.get(reference))
            except ray.exceptions.RayError as error:
                yield Finished(job, None, f"{type(error).__name__}: {error}")


def get_engine(name: str, workers: int, address: str | None = None) -> Engine:
    """``local`` or ``ray``."""
    if workers < 1:
        raise ValueError(f"workers is {workers}; choose at least 1.")
    if name == "local":
        return local_engine(workers)
    if name == "ray":
        return ray_engine(workers, address)
    raise ValueError(f"Unknown engine {name!r}; choose local or ray.")
