"""Speed and memory against their goals, in one run on one machine: a table, or with ``--json`` a list of rows.

Ratios are of the best of several steps, the compared programs taking turns, so that other work on the machine
disturbs all alike. What each row means and what limits it: docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import ROOT
from benchmarks.speed.fits import (
    FOREST,
    LIKELIHOOD,
    ROWS,
    TASKS,
    fit_program,
    forest_program,
    likelihood_lost,
    prediction_seconds,
    text_program,
)
from benchmarks.speed.measuring import CLOCKS, Bench, Row
from benchmarks.speed.programs import class_rows, matrix_products, step, value_rows

# -- goals ---------------------------------------------------------------------------------------------


def training(bench: Bench) -> list[Row]:
    rows = class_rows()
    bmtl, vmtl, shipped, moment, amortised, products = bench.best(
        step("bmtl", rows),
        step("vmtl", rows),
        step("vmtl", rows, as_shipped=True),
        step("vmtl", rows, estimator="moment"),
        step("vmtl_ac", rows),
        matrix_products(),
    )
    print(f"BMTL step {1e3 * bmtl:.0f} ms, VMTL step {1e3 * vmtl:.0f} ms", file=sys.stderr)
    return [
        Row("training step VMTL / BMTL, sampled, L = M = 10", vmtl / bmtl, 2.6, "x"),
        Row("training step VMTL / BMTL, preset paper as shipped", shipped / bmtl, 3.5, "x"),
        Row("training step VMTL / BMTL, moment", moment / bmtl, 1.7, "x"),
        Row("training step VMTL-AC / BMTL, sampled", amortised / bmtl, 2.6, "x"),
        Row("VMTL step / its matrix products alone", vmtl / products, 1.5, "x"),
    ]


def prediction(bench: Bench) -> list[Row]:
    import numpy as np

    from vmtl import VMTLClassifier

    rows = class_rows()
    x, y, task = (value.numpy() for value in (rows.x, rows.y, rows.task))
    pick = np.random.default_rng(0).integers(0, len(x), 1000)

    def predict(method: str, mode: str) -> Callable[[], Any]:
        model = VMTLClassifier(method, "paper", max_steps=1, predictive=mode, random_state=0)
        model.fit(x, y, tasks=task)
        return lambda: model.predict_proba(x[pick], tasks=task[pick])

    bmtl, sampled, moment = bench.best(
        predict("bmtl", "mean"), predict("vmtl", "monte-carlo"), predict("vmtl", "moment"), repeats=2 * bench.repeats
    )
    return [
        Row("predicting 1,000 rows VMTL / BMTL, Monte Carlo L = M = 10", sampled / bmtl, 1.8, "x"),
        Row("predicting 1,000 rows VMTL / BMTL, moment", moment / bmtl, 1.15, "x"),
    ]


def growth(bench: Bench) -> list[Row]:
    rows = class_rows()
    one, hundred = bench.best(step("vmtl", rows, n_z=1, n_w=1), step("vmtl", rows, n_z=100, n_w=1), repeats=3)
    total, linear = 5120, {"encoder": "linear"}
    few, many = bench.best(
        step("vmtl", value_rows(4, total), batch_rows=total // 4 // 10, **linear),
        step("vmtl", value_rows(128, total), batch_rows=total // 128 // 10, **linear),
        repeats=3,
    )
    return [
        Row("training step, L = 100 / L = 1 at M = 1", hundred / one, 5, "x"),
        Row("training step, T = 128 / T = 4, same rows, linear encoder", many / few, 2, "x"),
    ]


def default_fit(bench: Bench) -> list[Row]:
    """Office-Caltech, where the folder VMTL_DATA has it."""
    from benchmarks.paper.run.data import DATASETS, find_documents, find_file
    from vmtl import MultiTaskClassifier
    from vmtl.data.splits import document_split
    from vmtl.datasets import load_npz

    name, entry = "default fit, Office-Caltech 5 %", DATASETS["office-caltech"]
    folder = Path(os.environ["VMTL_DATA"]) if "VMTL_DATA" in os.environ else None
    file, documents = find_file(entry, folder), find_documents(entry, folder, None)
    if file is None or documents is None:
        return [Row(name, None, 10, "s")]
    problem = load_npz(file)
    train = document_split(problem, documents, 5).train
    part = problem.subset(train)
    model = MultiTaskClassifier(random_state=0, n_threads=bench.threads)
    (seconds,) = bench.best(lambda: model.fit(part.X, part.labels, tasks=part.tasks), repeats=1)
    return [Row(name, seconds, 10, "s")]


def imports(bench: Bench) -> list[Row]:
    def run(code: str) -> Callable[[], Any]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    clock, bench.clock = bench.clock, time.perf_counter
    base, ours = bench.best(run("import torch, sklearn"), run("from vmtl import MultiTaskClassifier"), repeats=3)
    bench.clock = clock
    return [Row("import vmtl (with its estimators) / import torch, sklearn", ours / base, 1.3, "x")]


# -- memory, each in a process of its own ---------------------------------------------------------------


def resident() -> float:
    """Bytes of this process in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return float(pages * resource.getpagesize())


def peak() -> float:
    """Most bytes that this process ever had in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def fit_memory(bench: Bench) -> list[Row]:
    from vmtl import VMTLClassifier

    rows = class_rows()
    x, y, task = (value.numpy() for value in (rows.x, rows.y, rows.task))
    before = resident()
    VMTLClassifier("vmtl", "paper", max_steps=4, random_state=0).fit(x, y, tasks=task)
    return [Row("peak memory of a fit at Office-Home size, above the data", (peak() - before) / 2**20, 600, "MB")]


def domainnet(bench: Bench) -> list[Row]:
    rows = class_rows(n_tasks=6, n_classes=345, per_class=3)  # 6,210 rows
    size = {"batch_rows": 2}
    vmtl = step("vmtl", rows, **size)
    vmtl()
    memory = peak() / 2**30
    bmtl, sampled = bench.best(step("bmtl", rows, **size), vmtl, repeats=2)
    return [
        Row("DomainNet size: memory of a step, data and libraries included", memory, 3, "GB"),
        Row("DomainNet size: training step VMTL / BMTL, sampled", sampled / bmtl, 4, "x"),
    ]


def _fits(bench: Bench, sizes: dict[str, tuple[int, int, float]]) -> list[Row]:
    """Seconds of one fit each, from the smallest on, and the memory that the last took above its data."""
    import torch

    fit_program(60, 20, bench.threads)()  # libraries are warm
    rows, before = [], 0.0
    for name, (n_rows, n_tasks, goal) in sizes.items():
        program, before = fit_program(n_rows, n_tasks, bench.threads), resident()
        torch.set_num_threads(bench.threads)
        start = bench.clock()
        program()
        rows.append(Row(f"default fit, {name}", bench.clock() - start, goal, "s"))
    rows.append(Row(f"memory above the data, {name}", (peak() - before) / 2**30, 4, "GB"))
    return rows


def fits_by_rows(bench: Bench) -> list[Row]:
    return _fits(bench, {f"{n:,} rows of 20 columns, 20 tasks": (n, 20, goal) for n, goal in ROWS.items()})


def fits_by_tasks(bench: Bench) -> list[Row]:
    return _fits(bench, {f"{n:,} tasks of 10 rows": (10 * n, n, goal) for n, goal in TASKS.items()})


def forest(bench: Bench) -> list[Row]:
    """Always on one thread, as its goal says."""
    rows = []
    for (n_rows, n_tasks), goal in FOREST.items():
        ours, theirs = bench.best(fit_program(n_rows, n_tasks, 1), forest_program(n_rows, n_tasks), repeats=1)
        name = f"default fit / forest of 500 trees, {n_rows:,} rows, {n_tasks:,} tasks"
        rows.append(Row(name, ours / theirs, goal, "x"))
    return rows


def likelihood(bench: Bench) -> list[Row]:
    """What looking at some of the rows, and solving without a table of all pairs, costs on new rows."""
    return [
        Row(
            f"likelihood lost against the exact fit, {n_rows:,} rows, {n_tasks:,} tasks",
            100 * likelihood_lost(n_rows, n_tasks, bench.threads),
            0.5,
            "%",
        )
        for n_rows, n_tasks in LIKELIHOOD
    ]


def text_and_prediction(bench: Bench) -> list[Row]:
    (seconds,) = bench.best(text_program(bench.threads), repeats=1)
    return [
        Row("default fit, 1,600 rows of 5,000 counts", seconds, 10, "s"),
        Row("predicting 1,000,000 rows of 20 columns", prediction_seconds(1_000_000, bench.threads), 60, "s"),
    ]


PARTS: dict[str, Callable[[Bench], list[Row]]] = {
    "training": training,
    "prediction": prediction,
    "growth": growth,
    "fit-memory": fit_memory,
    "domainnet": domainnet,
    "default-fit": default_fit,
    "fits-by-rows": fits_by_rows,
    "fits-by-tasks": fits_by_tasks,
    "forest": forest,
    "likelihood": likelihood,
    "text-and-prediction": text_and_prediction,
    "imports": imports,
}


def run_part(part: str, arguments: argparse.Namespace) -> list[Row]:
    """One part in a fresh process, so that none sees the memory or the caches of another."""
    command = [sys.executable, "-m", "benchmarks.speed", "--part", part, "--clock", arguments.clock]
    command += ["--threads", str(arguments.threads), "--repeats", str(arguments.repeats)]
    done = subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    return [Row(**entry) for entry in json.loads(done.stdout)]


def shown(row: Row) -> str:
    value = "not measured" if row.value is None else f"{row.value:.2f} {row.unit}"
    verdict = {True: "pass", False: "MISSED", None: "-"}[row.passed]
    return f"{row.name:62s} {value:>14s}   goal {row.goal:g} {row.unit:3s} {verdict}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="a list of rows with name, value, goal, pass")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--clock", choices=list(CLOCKS), default="wall", help="cpu: on a busy machine, with --threads 1"
    )
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", choices=list(PARTS), nargs="*", default=list(PARTS))
    parser.add_argument("--part", choices=list(PARTS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        measured = PARTS[arguments.part](Bench(arguments.clock, arguments.threads, arguments.repeats))
        print(json.dumps([asdict(row) for row in measured]))
        return
    rows = []
    for part in arguments.only:
        for row in run_part(part, arguments):
            rows.append(row)
            print(shown(row), file=sys.stderr if arguments.json else sys.stdout, flush=True)
    if arguments.json:
        print(
            json.dumps([{"name": r.name, "value": r.value, "goal": r.goal, "pass": r.passed} for r in rows], indent=1)
        )


if __name__ == "__main__":
    main()
