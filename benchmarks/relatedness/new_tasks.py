"""A task that comes later: added to a fitted model, beside fitting all again; and predicted without any label of it.

    python -m benchmarks.relatedness.new_tasks --data DIR --seeds 3      # DIR as for the suites

Every task of a set is left out in turn (at most ``--tasks``). A model of the others is fitted; then the task is

    added     with its training rows by ``add_task``
    refit     with all rows, in one fit
    average   predicted as the average of the others, no label of it
    similar   predicted by those it resembles, no label of it

Shown are the mean score over tasks and seeds on test rows of the left-out task, the paired difference of added and
refit with its 95 % interval, how far their predictions are apart (the mean total variation of probabilities, or the
root mean square in units of the target's deviation), and processor seconds of ``add_task`` and of the refit.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.relatedness.known_structures import (
    TEST_ROWS,
    Tasks,
    mnist_families,
    office_caltech,
    synthetic_groups,
    tilted_digits,
)
from vmtl import MultiTaskClassifier, MultiTaskRegressor, Problem
from vmtl._utils.progress_bar import progress_bar
from vmtl.datasets import load_rotated_digits, load_school
from vmtl.evaluation.intervals import of_mean

Array = np.ndarray
Estimator = MultiTaskClassifier | MultiTaskRegressor


def rotated_digits(seed: int, rows: int, data: Path) -> Tasks:
    """Ten digits, each a regression of its angle."""
    return some_rows(load_rotated_digits(), seed, rows)


def schools(seed: int, rows: int, data: Path) -> Tasks:
    """Exam scores of pupils in 139 schools."""
    return some_rows(load_school(data), seed, rows)


def some_rows(problem: Problem, seed: int, rows: int) -> Tasks:
    """At most so many training rows of every task, the others for testing."""
    order = np.random.default_rng(seed).permutation(problem.n_rows)
    order = order[np.argsort(problem.task[order], kind="stable")]
    task = problem.task[order]
    place = np.arange(len(task)) - np.searchsorted(task, np.arange(problem.n_tasks))[task]
    none = np.zeros((problem.n_tasks, problem.n_tasks), dtype=bool)
    return Tasks(problem.X[order], problem.y[order], task, place < rows, none)


#: Loader, its number, and whether targets are real.
SETS: dict[str, tuple[Callable[[int, int, Path], Tasks], int, bool]] = {
    "synthetic-groups": (synthetic_groups, 0, False),
    "tilted-digits": (tilted_digits, 50, False),
    "mnist-families": (mnist_families, 40, False),
    "office-caltech": (office_caltech, 5, False),
    "rotated-digits": (rotated_digits, 30, True),
    "schools": (schools, 20, True),
}


def one_task(tasks: Tasks, real: bool, new: int) -> dict[str, float]:
    """All ways for one task that comes later."""
    kind = MultiTaskRegressor if real else MultiTaskClassifier
    own = tasks.task == new
    rest, mine = tasks.train & ~own, tasks.train & own
    test = np.flatnonzero(own & ~tasks.train)[:TEST_ROWS]
    model = kind(random_state=0).fit(tasks.x[rest], tasks.y[rest], tasks=tasks.task[rest])
    predictions = {way: predict(model.set_params(unknown_task=way), tasks, test) for way in ("average", "similar")}
    started = time.process_time()
    model.add_task(tasks.x[mine], tasks.y[mine], task=new)
    seconds = {"seconds added": time.process_time() - started}
    predictions["added"] = predict(model, tasks, test)
    started = time.process_time()
    refit = kind(random_state=0).fit(tasks.x[tasks.train], tasks.y[tasks.train], tasks=tasks.task[tasks.train])
    seconds["seconds refit"] = time.process_time() - started
    predictions["refit"] = predict(refit, tasks, test)
    y = tasks.y[test] if real else np.searchsorted(refit.classes_, tasks.y[test])
    unit = float(np.std(tasks.y[tasks.train])) if real else 1.0
    scores = {way: score(prediction, y, unit) for way, prediction in predictions.items()}
    return scores | {"apart": apart(predictions["added"], predictions["refit"], unit)} | seconds


def predict(model: Estimator, tasks: Tasks, rows: Array) -> Array:
    """Probabilities (n, C) or means (n,)."""
    if isinstance(model, MultiTaskClassifier):
        return model.predict_proba(tasks.x[rows], tasks=tasks.task[rows])
    return model.predict(tasks.x[rows], tasks=tasks.task[rows])


def score(prediction: Array, y: Array, unit: float) -> float:
    """Accuracy, or the root mean squared error in units of the target's deviation."""
    if prediction.ndim == 2:
        return float((prediction.argmax(1) == y).mean())
    return float(np.sqrt(((prediction - y) ** 2).mean()) / unit)


def apart(first: Array, second: Array, unit: float) -> float:
    """How far two predictions of the same rows differ."""
    if first.ndim == 2:
        return float(np.abs(first - second).sum(1).mean() / 2)
    return float(np.sqrt(((first - second) ** 2).mean()) / unit)


def left_out(tasks: Tasks, most: int, seed: int) -> Array:
    """Numbers of the tasks that come later, one after the other."""
    n_tasks = int(tasks.task.max()) + 1
    return np.sort(np.random.default_rng(seed).permutation(n_tasks)[:most])


def main() -> None:
    parser = argparse.ArgumentParser(description="A task that comes later: added, refitted, or without labels.")
    parser.add_argument("--data", type=Path, default=os.environ.get("VMTL_DATA"), help="folder with data/")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=10, help="tasks that are left out at most, at random")
    parser.add_argument("--out", type=Path, help="a CSV for every task and seed")
    given = parser.parse_args()
    records = []
    for name in given.sets:
        load, number, real = SETS[name]
        for seed in range(given.seeds):
            tasks = load(seed, number, Path(given.data or ".") / "data")
            turn = left_out(tasks, given.tasks, seed)
            with progress_bar(f"{name}, seed {seed}", len(turn), unit="tasks") as show:
                for new in turn:
                    records.append({"set": name, "seed": seed, "task": new} | one_task(tasks, real, int(new)))
                    show()
        table = pd.DataFrame([record for record in records if record["set"] == name])
        means = table.drop(columns=["set", "seed", "task"]).mean()
        print(f"{name}: " + ", ".join(f"{way} {value:.3f}" for way, value in means.items()))
        for first, second in (("added", "refit"), ("similar", "average")):
            mean = of_mean((table[first] - table[second]).to_numpy())
            print(f"  {first} minus {second}: {mean.value:.4f} [{mean.low:.4f}, {mean.high:.4f}]", flush=True)
        if given.out is not None:
            pd.DataFrame(records).to_csv(given.out, index=False)


if __name__ == "__main__":
    main()
