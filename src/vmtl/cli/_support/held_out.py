"""Rows that are kept out of a fit, to score it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vmtl.cli._support.console import note

if TYPE_CHECKING:
    from vmtl._utils.types import Array
    from vmtl.data.problem import Problem
    from vmtl.data.splits import Split
    from vmtl.estimators import MultiTaskEstimator
    from vmtl.evaluation import Evidence


def hold_out(problem: Problem, share: float, seed: int) -> tuple[Problem, Problem]:
    """The rows to learn from, and those that are kept out: a share of every task."""
    from vmtl.data.splits import holdout

    if not 0 < share < 1:
        raise ValueError(f"--holdout is {share:g}; give the share of the rows to keep out, such as 0.2.")
    split = holdout(problem, share, seed)
    if not len(split.test):
        raise ValueError(f"--holdout {share:g} keeps no row out, as the tasks are so small; choose a larger share.")
    return problem.subset(split.train), problem.subset(split.test)


def show_held_out(model: MultiTaskEstimator, held: Problem, n_learned: int, json: bool) -> dict[str, object]:
    """Print the scores of rows that were kept out, or return them for those who read JSON."""
    from vmtl.cli._support.scores import as_fitted, score_rows, show_scores
    from vmtl.evaluation import gather

    labels, tasks = as_fitted(held)
    evidence = gather(model, held.X, labels, tasks)
    scores, mean = score_rows(evidence), evidence.mean_scores()
    if json:
        return {"held_out": {"scores": scores, "mean_of_tasks": mean}}
    show_scores(f"{held.n_rows} rows that were held out", scores, mean)
    note(
        f"These are scores of the model in the file, which was fitted to the other {n_learned} rows. "
        "Fit again without --holdout to use all rows."
    )
    return {}


def folds_within_tasks(problem: Problem, n_folds: int, seed: int) -> Iterator[Split]:
    """Every row is held out once, and every task has training rows in every fold that allows it."""
    from vmtl.data.splits import kfold

    yield from kfold(problem, n_folds, seed)


def folds_of_tasks(problem: Problem, n_folds: int, seed: int) -> Iterator[Split]:
    """Every task is held out once, with all of its rows."""
    import numpy as np

    from vmtl.data.splits import Split

    if not 2 <= n_folds <= problem.n_tasks:
        raise ValueError(f"--folds is {n_folds}; choose a number from 2 to {problem.n_tasks}, the tasks.")
    fold = np.random.default_rng(seed).permutation(problem.n_tasks) % n_folds
    of_row: Array = fold[problem.task]
    for k in range(n_folds):
        yield Split(np.flatnonzero(of_row != k), np.flatnonzero(of_row == k))


def predictions_of(model: MultiTaskEstimator, problem: Problem, rows: Array) -> Evidence:
    """Predictions of some rows, with tasks and classes numbered as in the whole problem.

    A class that the model never saw has probability 0.
    """
    import numpy as np

    from vmtl.cli._support.scores import as_fitted
    from vmtl.evaluation import Evidence

    held, tasks = problem.subset(rows), as_fitted(problem)[1][rows]
    uncertainty = model.uncertainty(held.X, tasks=tasks)
    total, epistemic = uncertainty["total"].to_numpy(), uncertainty["epistemic"].to_numpy()
    names = problem.task_names
    if problem.class_names is None:
        mean, std = model.predict(held.X, tasks=tasks, return_std=True)
        return Evidence(names, None, held.task, held.y.astype(float), None, mean, std, total, epistemic)
    p = np.zeros((len(rows), problem.n_classes))
    place = {name: number for number, name in enumerate(problem.class_names or ())}
    p[:, [place[str(label)] for label in model.classes_]] = model.predict_proba(held.X, tasks=tasks)
    return Evidence(names, problem.class_names, held.task, held.y, p, None, None, total, epistemic)


def together(parts: list[Evidence]) -> Evidence:
    """The rows of several parts of one problem."""
    import numpy as np

    rows = ("task", "y", "p", "mean", "std", "total", "epistemic")
    arrays = {name: [getattr(part, name) for part in parts] for name in rows}
    joined: dict[str, Any] = {name: np.concatenate(values) for name, values in arrays.items() if values[0] is not None}
    return replace(parts[0], **joined)
