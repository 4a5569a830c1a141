"""What a job cost and where it ran: versions, clock, memory, one thread."""

from __future__ import annotations

import platform
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Self

import torch
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

PACKAGES = ("vmtl", "torch", "numpy", "scipy", "scikit-learn")


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch, BLAS and OpenMP on one thread, then as before: results do not depend on the number of cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        torch.set_num_threads(before)


def versions() -> dict[str, str]:
    """Python and the packages that results depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def describe_host() -> dict[str, str]:
    return {"name": socket.gethostname(), "platform": platform.platform(), "machine": platform.machine()}


class Meter:
    """Wall-clock and CPU seconds and the peak memory of one job."""

    def __enter__(self) -> Self:
        self._costs: dict[str, float] = {}
        _forget_peak()
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        self._began = time.time()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.add(seconds=time.perf_counter() - self._wall, cpu_seconds=time.process_time() - self._cpu)
        self.add(peak_mb=_peak_mb(), began=round(self._began))

    @contextmanager
    def lap(self, name: str) -> Iterator[None]:
        """Seconds of a part of the job."""
        started = time.perf_counter()
        yield
        self.add(**{name: time.perf_counter() - started})

    def add(self, **costs: float | None) -> None:
        self._costs.update({name: float(value) for name, value in costs.items() if value is not None})

    def costs(self) -> dict[str, float]:
        return dict(self._costs)


def _forget_peak() -> None:
    """Start the high-water mark of resident memory anew, where the system has that (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _peak_mb() -> float | None:
    """Peak resident memory in MiB since ``_forget_peak``, elsewhere since the process began; unknown on Windows."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    except (OSError, StopIteration):
        pass
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 1024)
