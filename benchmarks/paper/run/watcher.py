"""A live table of a benchmark run: what runs, what is done, the time left; without a terminal, plain lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks.paper.run.job import Job

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

#: Seconds between two plain lines.
LINE_EVERY = 30.0


class Watcher:
    """Told when a job starts and ends; draws on standard error if that is a terminal and ``visible``."""

    def __init__(self, visible: bool = True) -> None:
        self.visible = visible
        self.total = self.done = self._before = 0
        self.running: dict[str, tuple[Job, float]] = {}
        self._began = self._last_line = time.monotonic()
        self._live: Live | None = None

    @contextmanager
    def watching(self, total: int, done: int) -> Iterator[None]:
        """Draw while the block runs."""
        self.total, self.done, self._before = total, done, done
        self._began = self._last_line = time.monotonic()
        if not self.visible or not sys.stderr.isatty():
            yield
            return
        from rich.console import Console
        from rich.live import Live

        with Live(get_renderable=self._table, console=Console(stderr=True), refresh_per_second=2) as self._live:
            yield
        self._live = None

    def started(self, job: Job) -> None:
        self.running[job.id] = (job, time.monotonic())

    def finished(self, job: Job) -> None:
        self.running.pop(job.id, None)
        self.done += 1
        if self.visible and self._live is None and time.monotonic() - self._last_line >= LINE_EVERY:
            self._last_line = time.monotonic()
            print(self.summary(), file=sys.stderr, flush=True)

    def time_left(self) -> float | None:
        """Seconds, from the pace of this call so far; None before the first job is done."""
        computed = self.done - self._before
        if not computed:
            return None
        return (self.total - self.done) * (time.monotonic() - self._began) / computed

    def summary(self) -> str:
        """One line: done, running, elapsed and left."""
        left = self.time_left()
        elapsed = clock(time.monotonic() - self._began)
        return (
            f"{self.done} of {self.total} jobs done, {len(self.running)} running, {elapsed} so far, "
            f"{clock(left) if left is not None else 'unknown'} left"
        )

    def _table(self) -> Table:
        from rich.table import Table

        table = Table(title=self.summary(), title_justify="left", expand=False)
        for column in ("job", "data", "%", "method", "preset", "variant", "seed", "running for"):
            table.add_column(column)
        for job, since in list(self.running.values()):
            cells = (job.id, job.data, f"{job.fraction:g}", job.method, job.preset, job.variant, str(job.seed))
            table.add_row(*cells, clock(time.monotonic() - since))
        return table


def clock(seconds: float) -> str:
    """1:02:03 or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
