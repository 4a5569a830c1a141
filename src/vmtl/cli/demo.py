"""``vmtl demo``: every method on the two embedded problems, over three seeds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from vmtl.cli._support.console import note, show_json, show_table
from vmtl.cli._support.options import Debug, Json, Quiet, method_names
from vmtl.cli._support.weights import show_weights

#: Tasks side by side in one table, so that it fits a terminal of 80 columns.
TASKS_PER_TABLE = 4
#: Pairs of tasks in the table of who learns from whom.
MOST_SHOWN = 6


@dataclass(frozen=True)
class Trial:
    """One problem: its test scores (method -> seeds x tasks) and the mixing weights of the kept method."""

    problem: Any
    measure: str
    scores: dict[str, Any]
    alpha: Any


def demo(
    out: Annotated[Path, typer.Option(help="The model file to write.")] = Path("demo.vmtl"),
    method: Annotated[
        str,
        typer.Option(
            help="The method whose model is kept and whose relatedness is shown.", autocompletion=method_names
        ),
    ] = "vmtl",
    steps: Annotated[int, typer.Option(min=1, help="Training steps of each fit.")] = 100,
    seeds: Annotated[int, typer.Option(min=1, help="Splits and fits per method.")] = 3,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Train every method on embedded data, compare them, and save a model; about a minute.

    Digits seen at four tilts (classification, each tilt a task) and rotated digits (regression of the angle,
    each digit a task), both made of scikit-learn's bundled images.
    """
    from vmtl import METHODS
    from vmtl.cli._support.files import check_output
    from vmtl.datasets import load_digits_domains, load_rotated_digits
    from vmtl.methods import get_method

    get_method(method)
    check_output(out)
    started = time.perf_counter()
    full = _preset_steps()
    note(
        f"{len(METHODS)} methods, 2 problems, {seeds} seeds; {steps} steps a fit (the default preset takes {full}); "
        "cells are mean ± 95 % interval over seeds.",
        quiet or json,
    )
    plan = ((load_digits_domains(), 0.05), (load_rotated_digits(), 0.1))
    with progress(2 * seeds * len(METHODS), not (quiet or json)) as done:
        trials = [run_trial(problem, share, method, steps, seeds, out, done) for problem, share in plan]
    if json:
        show_json({"model": str(out), "steps": steps, "seeds": seeds, "problems": [as_json(t) for t in trials]})
        return
    for trial in trials:
        show_scores(trial)
        show_weights(f"{trial.problem.name}: who learns from whom by {method}", trial.alpha, MOST_SHOWN)
    note(f"{out}: the {method} model of {trials[0].problem.name}. {time.perf_counter() - started:.0f} s.", quiet)
    for trial in trials:
        note(what_was_seen(trial, method), quiet)
    note(
        f"Look at the model with `vmtl info {out}`. Next, your own table: "
        "`vmtl fit train.csv --task COLUMN --target COLUMN --out model.vmtl`, then "
        "`vmtl predict model.vmtl new.csv --out predictions.csv`.",
        quiet,
    )


def _preset_steps() -> int:
    from vmtl import PRESETS

    return PRESETS["default"].max_steps


def progress(total: int, visible: bool) -> Any:
    """A context that yields a function to call with the name of every finished fit."""
    from vmtl.cli._support.progress import fits_progress

    return fits_progress(total, visible)


def run_trial(
    problem: Any, share: float, kept: str, steps: int, seeds: int, out: Path, done: Callable[[str], None]
) -> Trial:
    """Fit every method on ``share`` of the rows, once per seed; the first kept classifier is saved."""
    import numpy as np

    from vmtl import METHODS, MultiTaskClassifier, MultiTaskRegressor
    from vmtl.data.splits import random_split
    from vmtl.report import gather

    estimator = MultiTaskClassifier if problem.is_classification else MultiTaskRegressor
    scores: dict[str, Any] = {name: [] for name in METHODS}
    weights = []
    for seed in range(seeds):
        split = random_split(problem, share, seed)
        train, test = problem.subset(split.train), problem.subset(split.test)
        for name in METHODS:
            model = estimator(name, max_steps=steps, n_threads=1, random_state=seed).fit(
                train.X, train.labels, tasks=train.tasks
            )
            found = gather(model, test.X, test.labels, test.tasks)
            scores[name].append([found.score(found.rows(t)).value for t in found.present])
            if name == kept:
                weights.append(model.alpha_)
                if seed == 0 and problem.is_classification:
                    model.save(out, metadata={"task": "domain", "target": "label", "data": problem.name})
            done(f"{problem.name} {name}")
    arrays = {name: np.asarray(values) for name, values in scores.items()}
    return Trial(problem, found.measure, arrays, sum(weights) / seeds)


def cells(trial: Trial, values: Any) -> list[str]:
    """Mean and interval over seeds: of the mean over tasks, then of every task."""
    import numpy as np

    from vmtl.evaluation.intervals import of_mean

    factor = 100 if trial.problem.is_classification else 1
    columns = np.column_stack([values.mean(axis=1), values]) * factor
    found = [of_mean(column) for column in columns.T]
    return [f"{v.value:.1f} ± {v.high - v.value:.1f}" if len(values) > 1 else f"{v.value:.1f}" for v in found]


def show_scores(trial: Trial) -> None:
    """The methods by tasks, best mean first, in tables that fit a terminal."""
    best_first = 1 if not trial.problem.is_classification else -1
    order = sorted(trial.scores, key=lambda name: best_first * trial.scores[name].mean())
    rows = {name: cells(trial, trial.scores[name]) for name in order}
    names = trial.problem.task_names
    unit = "accuracy in %, higher is better" if trial.problem.is_classification else "RMSE, lower is better"
    for start in range(0, len(names), TASKS_PER_TABLE):
        part = slice(1 + start, 1 + start + TASKS_PER_TABLE)
        head = ("method", "mean", *names[start : start + TASKS_PER_TABLE])
        show_table(f"{trial.problem.name}: {unit}", head, [(n, rows[n][0], *rows[n][part]) for n in order])


def what_was_seen(trial: Trial, method: str) -> str:
    """The kept method beside every task alone and all rows pooled, in one sentence."""
    factor, unit = (100, " %") if trial.problem.is_classification else (1, "")

    def mean(name: str) -> str:
        return f"{factor * trial.scores[name].mean():.1f}{unit}"

    others = {"stl": "with every task alone", "pooled": "with all rows pooled"}
    against = " and ".join(f"{mean(name)} {how}" for name, how in others.items() if name != method)
    return f"{trial.problem.name}, mean {trial.measure}: {method} {mean(method)} against {against}."


def as_json(trial: Trial) -> dict[str, Any]:
    """A trial as plain data."""
    return {
        "name": trial.problem.name,
        "measure": trial.measure,
        "tasks": trial.problem.task_names,
        "scores": {name: values.tolist() for name, values in trial.scores.items()},
        "alpha": trial.alpha.to_numpy().tolist(),
    }
