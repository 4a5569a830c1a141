"""Who owns the parts of a folder: this process, or workers of a Ray cluster. Only sums and a few rows travel."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import ModuleType
from typing import Any, Protocol

import torch
from torch import Tensor

from vmtl._utils.ray_instance import ATTEMPTS, import_ray, start_ray
from vmtl.data.rows import Rows, Sums
from vmtl.data.stored.owner import Owner, Stage, add_up
from vmtl.data.stored.parquet_folder import Part


class Crew(Protocol):
    """All owners of a folder's parts together."""

    def total(self, stage: Stage, part: Callable[[Any], Sums]) -> Sums:
        """The sum over all blocks of what ``part`` says of each."""

    def take(self, stage: Stage, numbers: Tensor) -> Rows:
        """The rows of these numbers, in this order."""


class LocalCrew:
    """One owner, in this process."""

    def __init__(self, parts: Sequence[Part], scratch: str) -> None:
        self._owner = Owner(parts, scratch)

    def total(self, stage: Stage, part: Callable[[Any], Sums]) -> Sums:
        return self._owner.total(stage, part)

    def take(self, stage: Stage, numbers: Tensor) -> Rows:
        return in_order(self._owner.take(stage, numbers), numbers)

    def close(self) -> None:
        self._owner.close()


class RayCrew:
    """Owners in processes of a Ray cluster; Ray starts one anew that dies, and asks it again.

    An answer is used once, whole or not at all: a worker that dies takes nothing with it, and nothing counts twice.
    """

    def __init__(self, ray: ModuleType, parts: Sequence[Part], workers: int, scratch: str) -> None:
        self._ray = ray
        kind = ray.remote(num_cpus=1, max_restarts=ATTEMPTS, max_task_retries=ATTEMPTS)(Owner)
        self.owners = [kind.remote(parts[i::workers], scratch) for i in range(min(workers, len(parts)))]

    def total(self, stage: Stage, part: Callable[[Any], Sums]) -> Sums:
        stage, part = self._ray.put(stage), self._ray.put(part)
        return add_up(self._answers([owner.total.remote(stage, part) for owner in self.owners]))

    def take(self, stage: Stage, numbers: Tensor) -> Rows:
        stage = self._ray.put(stage)
        answers = self._answers([owner.take.remote(stage, numbers) for owner in self.owners])
        return in_order([taken for answer in answers for taken in answer], numbers)

    def close(self) -> None:
        with suppress(self._ray.exceptions.RayError):  # whoever is gone has left its folder to the machine
            self._ray.get([owner.close.remote() for owner in self.owners], timeout=10)

    def _answers(self, asked: list[Any]) -> list[Any]:
        """What all say, in the order of the owners; an error of one is an error as it would be here."""
        try:
            return list(self._ray.get(asked))
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError as error:
            reason = " ".join(str(error).split())[:200]
            raise RuntimeError(
                f"A worker died {ATTEMPTS + 1} times, perhaps for lack of memory; use fewer workers "
                f"({type(error).__name__}: {reason})."
            ) from error


def in_order(taken: Iterable[tuple[Tensor, Rows]], numbers: Tensor) -> Rows:
    """Rows with their numbers, from several places, in the order of ``numbers`` (n,)."""
    pairs = list(taken)
    there, rows = torch.cat([number for number, _ in pairs]), [rows for _, rows in pairs]
    there, order = there.sort()
    place = order[torch.searchsorted(there, numbers)]
    x, y, task, weight = (
        torch.cat([getattr(part, name) for part in rows])[place] for name in ("x", "y", "task", "weight")
    )
    return replace(rows[0], x=x, y=y, task=task, weight=weight)


@contextmanager
def hired(engine: str, workers: int | None, address: str | None, parts: Sequence[Part]) -> Iterator[Crew]:
    """A crew for these parts: ``local``, or ``ray`` with so many workers; what it kept on disk goes at the end."""
    scratch = f"vmtl-{secrets.token_hex(8)}"
    if engine not in ("local", "ray"):
        raise ValueError(f"Unknown engine {engine!r}; choose local or ray.")
    if workers is not None and workers < 1:
        raise ValueError(f"workers is {workers}; choose at least 1.")
    if engine == "local":
        if address is not None or workers is not None:
            raise ValueError("The local engine is this process alone; workers and address are for engine='ray'.")
        local = LocalCrew(parts, scratch)
        try:
            yield local
        finally:
            local.close()
        return
    ray = import_ray()
    with start_ray(ray, workers or (0 if address else 2), address):
        crew = RayCrew(ray, parts, workers or int(ray.cluster_resources().get("CPU", 1)), scratch)
        try:
            yield crew
        finally:
            crew.close()
