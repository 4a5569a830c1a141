"""How often `predict_interval` and `predict_set` hold the target: real sets, a few rows of every task, many splits.

    VMTL_DATA=folder python -m benchmarks.guarantees

prints the table of docs/uncertainty.md. Rows of training and test are drawn anew in every split; a share is the mean
over tasks, and the interval is that of the mean over splits.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from vmtl import MultiTaskClassifier, MultiTaskRegressor, Problem
from vmtl._utils.progress_bar import progress_bar
from vmtl.datasets import load_digits_domains, load_rotated_digits, load_school
from vmtl.evaluation.intervals import of_mean

SPLITS = 20
#: Test rows of a task at most, and tasks of a split where there are many.
TEST_ROWS, MOST_TASKS = 100, 20


def covered_share(
    problem: Problem, rows_per_task: int, seed: int, coverage: float, folds: int | None = None
) -> tuple[float, float]:
    """Fit to a few rows of every task: how often the others are covered, and the size of sets, averaged over tasks.

    The size is the mean number of classes, or the width in standard deviations of the target. ``folds`` are those of
    ``cross_calibrate``, which is left out if None.
    """
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(problem.n_tasks)[:MOST_TASKS]
    parts = [rng.permutation(np.flatnonzero(problem.task == t)) for t in chosen]
    train = problem.subset(np.concatenate([part[:rows_per_task] for part in parts]))
    test = problem.subset(np.concatenate([part[rows_per_task : rows_per_task + TEST_ROWS] for part in parts]))
    if problem.is_classification:
        classifier = MultiTaskClassifier(random_state=seed).fit(train.X, train.labels, tasks=train.tasks)
        if folds is not None:
            classifier.cross_calibrate(train.X, train.labels, tasks=train.tasks, folds=folds)
        sets = classifier.predict_set(test.X, tasks=test.tasks, coverage=coverage).to_numpy()
        inside = sets[np.arange(len(test.y)), np.searchsorted(classifier.classes_, test.labels)]
        size = sets.sum(axis=1)
    else:
        regressor = MultiTaskRegressor(random_state=seed).fit(train.X, train.y, tasks=train.tasks)
        if folds is not None:
            regressor.cross_calibrate(train.X, train.y, tasks=train.tasks, folds=folds)
        low, high = regressor.predict_interval(test.X, tasks=test.tasks, coverage=coverage).to_numpy().T
        inside, size = (low <= test.y) & (test.y <= high), (high - low) / test.y.std()
    of_tasks = pd.DataFrame({"inside": inside, "size": size}).groupby(test.tasks).mean().mean()
    return float(of_tasks["inside"]), float(of_tasks["size"])


def sets() -> Iterator[tuple[str, Callable[[], Problem], int, int | None]]:
    """Names, loaders, rows per task and folds."""
    folder = os.environ.get("VMTL_DATA")
    for rows, folds in ((10, None), (10, 8), (30, None)):
        yield "digits of four kinds", load_digits_domains, rows, folds
        yield "angles of digits", load_rotated_digits, rows, folds
        if folder:
            yield "schools", lambda: load_school(Path(folder) / "data" / "school.npz"), rows, folds


def main(splits: int = SPLITS, coverage: float = 0.9) -> None:
    print(f"| set | rows per task | folds | inside {coverage:.0%}, 95 % interval | size |\n|---|---|---|---|---|")
    for name, load, rows, folds in sets():
        problem, measured = load(), []
        with progress_bar(f"{name}, {rows} rows", splits) as done:
            for seed in range(splits):
                measured.append(covered_share(problem, rows, seed, coverage, folds))
                done()
        share, size = (of_mean([pair[k] for pair in measured]) for k in (0, 1))
        unit = "classes" if problem.is_classification else "deviations wide"
        inside = f"{share.value:.3f} ({share.low:.3f} to {share.high:.3f})"
        print(f"| {name} | {rows} | {folds or 'none'} | {inside} | {size.value:.2f} {unit} |")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
