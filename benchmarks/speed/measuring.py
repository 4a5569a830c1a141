"""How speed is measured: clocks, the best of several turns, and rows with their goals."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


@dataclass(frozen=True)
class Row:
    """One measured goal; ``passed`` is None where it could not be measured."""

    name: str
    value: float | None
    goal: float
    unit: str

    @property
    def passed(self) -> bool | None:
        return None if self.value is None else self.value <= self.goal


class Bench:
    """How to measure: which clock, how many threads, how often."""

    def __init__(self, clock: str, threads: int, repeats: int) -> None:
        import vmtl  # noqa: F401  before torch, so that threads sleep while they wait
        import torch  # isort: skip

        torch.set_num_threads(threads)
        self.clock, self.threads, self.repeats = CLOCKS[clock], threads, repeats

    def best(self, *programs: Callable[[], Any], repeats: int | None = None) -> list[float]:
        """Seconds of the best run of each program; they take turns, after one run to warm up."""
        seconds = [float("inf")] * len(programs)
        for program in programs:
            program()
        for _ in range(repeats or self.repeats):
            for place, program in enumerate(programs):
                start = self.clock()
                program()
                seconds[place] = min(seconds[place], self.clock() - start)
        return seconds
