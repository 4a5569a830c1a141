"""How time and memory of a default fit grow with rows, columns, classes and tasks: measured, and drawn.

    python -m benchmarks.speed.growth measure      # what benchmarks/speed/growth.jsonl does not have yet
    python -m benchmarks.speed.growth draw         # docs/images/growth.svg from it

Every fit has a process of its own and one thread; seconds are those of the processor, since machines have other work.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import DOCS, ROOT

RECORDS = Path(__file__).with_suffix(".jsonl")
PICTURE = DOCS / "images" / "growth.svg"
#: What a fit has where nothing else is said.
USUAL = {"rows": 2_000, "columns": 20, "classes": 2, "tasks": 20}
#: What grows, and how far; tasks have 10 rows each.
GROWTH: dict[str, tuple[int, ...]] = {
    "rows": (100, 500, 2_000, 20_000, 200_000),
    "columns": (5, 20, 100, 500),
    "classes": (2, 5, 10, 30),
    "tasks": (10, 100, 1_000, 10_000),
}


def size_of(what: str, value: int) -> dict[str, int]:
    """The sizes of a table in which ``what`` has this value."""
    return USUAL | {what: value} | ({"rows": 10 * value} if what == "tasks" else {})


def make_rows(rows: int, columns: int, classes: int, tasks: int) -> tuple[Any, Any, Any]:
    """Slopes that tasks share but for a part, and a curved term; rows dealt evenly."""
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(rows, columns)), np.arange(rows) % tasks
    slopes = rng.normal(size=(columns, classes)) + 0.4 * rng.normal(size=(tasks, columns, classes))
    signal = np.einsum("nk,nkc->nc", X, slopes[task]) / columns**0.5
    signal[:, 0] += np.sin(2 * X[:, 0])
    return X, (signal + 0.3 * rng.gumbel(size=signal.shape)).argmax(1), task


def measure_one(what: str, value: int) -> dict[str, Any]:
    """Processor seconds of one fit, and megabytes above those before it."""
    from vmtl import MultiTaskClassifier

    X, y, task = make_rows(**size_of(what, value))
    MultiTaskClassifier(random_state=0, n_threads=1).fit(X[:60], y[:60], tasks=task[:60] % 3)  # libraries are warm
    before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    start = time.process_time()
    MultiTaskClassifier(random_state=0, n_threads=1).fit(X, y, tasks=task)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"what": what, "value": value, "seconds": round(seconds, 2), "megabytes": round((peak - before) / 2**20)}


def load() -> list[dict[str, Any]]:
    """What was measured, the smallest first."""
    lines = RECORDS.read_text(encoding="utf-8").splitlines() if RECORDS.exists() else []
    return sorted(map(json.loads, lines), key=lambda record: (record["what"], record["value"]))


def measure() -> None:
    done = {(record["what"], record["value"]) for record in load()}
    for what, value in sorted(((w, v) for w, values in GROWTH.items() for v in values), key=lambda pair: pair[1]):
        if (what, value) not in done:
            command = [sys.executable, "-m", "benchmarks.speed.growth", "one", what, str(value)]
            line = subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout
            with RECORDS.open("a", encoding="utf-8") as stream:
                stream.write(line)
            print(line, end="", flush=True)


def draw() -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "growth", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(GROWTH), figsize=(9, 2.6), sharey=True, layout="constrained")
    for axis, what in zip(axes, GROWTH, strict=True):
        records = [record for record in load() if record["what"] == what]
        values = [record["value"] for record in records]
        axis.loglog(values, [record["seconds"] for record in records], "o-", color="#3f51b5", label="seconds")
        memory = [max(1, record["megabytes"]) / 100 for record in records]
        axis.loglog(values, memory, "s--", color="#c2571a", label="memory, 100 MB")
        axis.set_xlabel({"tasks": "tasks of 10 rows"}.get(what, what))
        axis.set_xticks(values, [f"{value:,}" for value in values])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        print(json.dumps(measure_one(sys.argv[2], int(sys.argv[3]))))
    elif sys.argv[1:] in (["measure"], ["draw"]):
        {"measure": measure, "draw": draw}[sys.argv[1]]()
    else:
        sys.exit(__doc__)
