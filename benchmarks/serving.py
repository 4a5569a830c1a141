"""What ``vmtl serve`` withstands: requests of one row from many connections, each answer checked.

    vmtl fit train.csv --task hospital --target treatment --out model.vmtl
    python benchmarks/serving.py model.vmtl new.csv --task hospital --workers 1 2 --connections 1 50 200

Servers and clients are processes of this machine, which share its cores; a client asks again as soon as it is answered.
Every run ends after ``--seconds`` or ``--requests``, whichever comes first. ``processor ms`` is what the processes of
the server took for a request.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from vmtl import MultiTaskClassifier

HOST, TOLERANCE = "127.0.0.1", 1e-5
COLUMNS = ("workers", "connections", "requests/s", "median ms", "p99 ms", "longest ms", "503", "wrong", "processor ms")


@dataclass
class Load:
    """Requests, the probabilities that answer them, and what came of them."""

    requests: list[bytes]
    expected: np.ndarray
    end: float
    most: int
    started: int = 0
    seconds: list[float] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)

    async def ask_on(self, port: int) -> None:
        """One connection: ask, read, compare, again."""
        reader, writer = await asyncio.open_connection(HOST, port)
        while time.perf_counter() < self.end and self.started < self.most:
            row, self.started = self.started % len(self.requests), self.started + 1
            start = time.perf_counter()
            writer.write(self.requests[row])
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head)
            assert length is not None
            body = await reader.readexactly(int(length[1]))
            self.seconds.append(time.perf_counter() - start)
            self.outcomes[self.outcome(int(head.split()[1]), body, self.expected[row])] += 1
        writer.close()

    @staticmethod
    def outcome(status: int, body: bytes, expected: np.ndarray) -> str:
        if status == 503:
            return "503"
        if status != 200:
            return "wrong"
        (answer,) = json.loads(body)["predictions"]
        off = np.abs(np.array(list(answer["probabilities"].values())) - expected).max()
        return "right" if off < TOLERANCE else "wrong"


@contextmanager
def served(model: Path, workers: int) -> Iterator[tuple[int, int]]:
    """A server that is ready: its process and its port."""
    command = [sys.executable, "-m", "vmtl", "serve", str(model), "--port", "0", "--workers", str(workers)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        port = re.search(r":(\d+),", process.stderr.readline())
        assert port is not None
        try:
            yield process.pid, int(port[1])
        finally:
            process.terminate()


def processor_seconds(parent: int) -> float:
    """What a process and its children have taken so far."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        fields = text.rsplit(")", 1)[1].split()
        if parent in (int(stat.parent.name), int(fields[1])):
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def read_requests(model: Path, table: Path, task: str) -> tuple[list[bytes], np.ndarray]:
    """One HTTP request for each row of a table, and its probabilities."""
    rows, fitted = pd.read_csv(table), MultiTaskClassifier.load(model)
    cells = json.loads(rows.drop(columns=task).to_json(orient="records"))
    bodies = [json.dumps({"rows": [row], "tasks": name}) for row, name in zip(cells, rows[task], strict=True)]
    head = "POST /predict HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\r\n{}"
    requests = [head.format(HOST, len(body.encode()), body).encode() for body in bodies]
    return requests, fitted.predict_proba(rows, tasks=rows[task])


async def run(load: Load, port: int, connections: int) -> None:
    await asyncio.gather(*(load.ask_on(port) for _ in range(connections)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("table", type=Path, help="rows to predict, as CSV")
    parser.add_argument("--task", required=True, help="the column of the task")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 50, 200])
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--requests", type=int, default=50_000)
    given = parser.parse_args()
    requests, expected = read_requests(given.model, given.table, given.task)
    print(f"| {' | '.join(COLUMNS)} |\n|{'--:|' * len(COLUMNS)}")
    for workers in given.workers:
        with served(given.model, workers) as (process, port):
            asyncio.run(run(Load(requests, expected, time.perf_counter() + 1, given.requests), port, 8))  # warm
            for connections in given.connections:
                before, start = processor_seconds(process), time.perf_counter()
                load = Load(requests, expected, start + given.seconds, given.requests)
                asyncio.run(run(load, port, connections))
                n, taken = len(load.seconds), processor_seconds(process) - before
                speed = n / (time.perf_counter() - start)
                middle, high, longest = 1e3 * np.quantile(load.seconds, [0.5, 0.99, 1])
                times = f"{speed:.0f} | {middle:.1f} | {high:.1f} | {longest:.1f}"
                counts = f"{load.outcomes['503']} | {load.outcomes['wrong']}"
                print(f"| {workers} | {connections} | {times} | {counts} | {1e3 * taken / n:.2f} |", flush=True)


if __name__ == "__main__":
    main()
