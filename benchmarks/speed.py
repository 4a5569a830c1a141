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
from dataclasses import asdict, dataclass
from pathlib import Path
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
        import torch

        torch.set_num_threads(threads)
        self.clock, self.threads, self.repeats = CLOCKS[clock], threads, repeats

    def best(self, *programs: Callable[[], Any], repeats: int | None = None) -> list[float]:
        """Seconds of the best run of each program; they take turns, after one run to warm up."""
        found = [float("inf")] * len(programs)
        for program in programs:
            program()
        for _ in range(repeats or self.repeats):
            for place, program in enumerate(programs):
                start = self.clock()
                program()
                found[place] = min(found[place], self.clock() - start)
        return found


# -- problems and programs -----------------------------------------------------------------------------


def class_rows(n_tasks: int = 4, n_classes: int = 65, per_class: int = 3, size: int = 4096) -> Any:
    """Non-negative features around class centres, as many rows of every class in every task."""
    import torch

    from vmtl.data.rows import Rows

    generator = torch.Generator().manual_seed(0)
    y = torch.arange(n_classes).repeat(n_tasks * per_class)
    task = torch.arange(n_tasks).repeat_interleave(n_classes * per_class)
    centre = 0.5 * torch.randn(n_classes, size, generator=generator)
    x = (centre[y] + 0.3 * torch.randn(len(y), size, generator=generator)).relu()
    return Rows(x, y, task, torch.ones(len(y)), n_tasks, n_classes, True)


def value_rows(n_tasks: int, n_rows: int, size: int = 28) -> Any:
    """Regression on a few columns, the rows spread evenly over the tasks."""
    import torch

    from vmtl.data.rows import Rows

    generator = torch.Generator().manual_seed(0)
    x = torch.randn(n_rows, size, generator=generator)
    y = x @ torch.randn(size, generator=generator) / size**0.5
    return Rows(x, y, torch.arange(n_rows) % n_tasks, torch.ones(n_rows), n_tasks, 1, False)


def step(method: str, rows: Any, **options: Any) -> Callable[[], Any]:
    """One training step of a method with the paper's settings, both mixture priors detached."""
    import torch

    from vmtl.config.presets import PRESETS
    from vmtl.inference.variational.training import Trainer
    from vmtl.methods import METHODS
    from vmtl.model.model import Layout, Model

    settings = PRESETS["paper"].with_options(prior_gradient_z="detached", **options)
    model = Model(METHODS[method], settings, Layout.of(rows, torch.ones(1, rows.x.shape[1])))
    model.reset(torch.Generator().manual_seed(0))
    trainer = Trainer(model, rows, 0)
    return lambda: trainer._one_step(settings.max_steps, 0.0)


def matrix_products(tasks: int = 4, rows: int = 260, pool: int = 780, classes: int = 65, draws: int = 10) -> Any:
    """The matrix products that a VMTL step at Office-Home size cannot do without, forward and backward.

    The encoder with its four layers on the batch; the pool's first layer and three more for every row and other
    task on the way to the prior, which passes no gradient; mean and variance of the logits of every draw of z.
    """
    import torch

    size, hidden, n = 4096, 512, tasks * rows
    x, first = torch.randn(n, size), torch.randn(size, hidden)
    h, square = torch.randn(n, hidden), torch.randn(hidden, hidden)
    x_pool, h_prior = torch.randn(pool, size), torch.randn(pool * (tasks - 1), hidden)
    z, w, g = torch.randn(tasks, rows, hidden), torch.randn(tasks, hidden, classes), torch.randn(tasks, rows, classes)

    def run() -> None:
        x @ first, x.T @ h, x_pool @ first
        for _ in range(3):
            h @ square, h @ square.T, h.T @ h, h_prior @ square
        for _ in range(draws // 2):
            for _ in range(3):  # the mean of a pair, and two variances
                z @ w, g @ w.mT, z.mT @ g

    return run


# -- goals ---------------------------------------------------------------------------------------------


def training(bench: Bench) -> list[Row]:
    rows = class_rows()
    bmtl, vmtl, moment, amortised, products = bench.best(
        step("bmtl", rows),
        step("vmtl", rows),
        step("vmtl", rows, estimator="moment"),
        step("vmtl_ac", rows),
        matrix_products(),
    )
    print(f"BMTL step {1e3 * bmtl:.0f} ms, VMTL step {1e3 * vmtl:.0f} ms", file=sys.stderr)
    return [
        Row("training step VMTL / BMTL, sampled, L = M = 10", vmtl / bmtl, 2.3, "x"),
        Row("training step VMTL / BMTL, moment", moment / bmtl, 1.7, "x"),
        Row("training step VMTL-AC / BMTL, sampled", amortised / bmtl, 2.6, "x"),
        Row("VMTL step / its matrix products alone", vmtl / products, 1.5, "x"),
    ]


def prediction(bench: Bench) -> list[Row]:
    import numpy as np

    from vmtl import MultiTaskClassifier

    rows = class_rows()
    x, y, task = (value.numpy() for value in (rows.x, rows.y, rows.task))
    pick = np.random.default_rng(0).integers(0, len(x), 1000)

    def predict(method: str, mode: str) -> Callable[[], Any]:
        model = MultiTaskClassifier(method, "paper", max_steps=1, predictive=mode, random_state=0)
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
    from vmtl import MultiTaskClassifier
    from vmtl.bench.run.data import DATASETS, find_documents, find_file
    from vmtl.data.splits import document_split
    from vmtl.datasets import load_office_caltech

    name, entry = "default preset, fit on Office-Caltech 5 %", DATASETS["office-caltech"]
    folder = Path(os.environ["VMTL_DATA"]) if "VMTL_DATA" in os.environ else None
    file, documents = find_file(entry, folder), find_documents(entry, folder, None)
    if file is None or documents is None:
        return [Row(name, None, 10, "s")]
    problem = load_office_caltech(file)
    train = document_split(problem, documents, 5).train
    part = problem.subset(train)
    model = MultiTaskClassifier(random_state=0, n_threads=bench.threads)
    (seconds,) = bench.best(lambda: model.fit(part.X, part.labels, tasks=part.tasks), repeats=1)
    return [Row(name, seconds, 10, "s")]


def imports(bench: Bench) -> list[Row]:
    def run(code: str) -> Callable[[], Any]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    clock, bench.clock = bench.clock, time.perf_counter
    base, own = bench.best(run("import torch, sklearn"), run("from vmtl import MultiTaskClassifier"), repeats=3)
    bench.clock = clock
    return [Row("import vmtl (with its estimators) / import torch, sklearn", own / base, 1.3, "x")]


# -- memory, each in a process of its own ---------------------------------------------------------------


def resident() -> float:
    """Bytes of this process in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return float(pages * resource.getpagesize())


def peak() -> float:
    """Most bytes that this process ever had in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def fit_memory(bench: Bench) -> list[Row]:
    from vmtl import MultiTaskClassifier

    rows = class_rows()
    x, y, task = (value.numpy() for value in (rows.x, rows.y, rows.task))
    before = resident()
    MultiTaskClassifier("vmtl", "paper", max_steps=4, random_state=0).fit(x, y, tasks=task)
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


PARTS: dict[str, Callable[[Bench], list[Row]]] = {
    "training": training,
    "prediction": prediction,
    "growth": growth,
    "fit-memory": fit_memory,
    "domainnet": domainnet,
    "default-fit": default_fit,
    "imports": imports,
}


def run_part(part: str, arguments: argparse.Namespace) -> list[Row]:
    """One part in a fresh process, so that none sees the memory or the caches of another."""
    command = [sys.executable, __file__, "--part", part, "--clock", arguments.clock]
    command += ["--threads", str(arguments.threads), "--repeats", str(arguments.repeats)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
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
        found = PARTS[arguments.part](Bench(arguments.clock, arguments.threads, arguments.repeats))
        print(json.dumps([asdict(row) for row in found]))
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
