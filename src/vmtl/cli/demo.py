"""``vmtl demo``: every method on the two embedded problems, over three seeds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vmtl.cli._support.console import note, show_json, show_table
from vmtl.cli._support.options import Debug, Json, Quiet, method_names
from vmtl.cli._support.weights import show_weights

if TYPE_CHECKING:
    from vmtl._utils.types import Array
    from vmtl.data.problem import Problem
    from vmtl.estimators import MultiTaskEstimator

#: Pairs of tasks in the table of who learns from whom.
MOST_PAIRS = 6


@dataclass(frozen=True)
class Trial:
    """One problem: its test scores (method -> seeds x tasks) and the first fit of the kept method."""

    problem: Problem
    measure: str
    scores: dict[str, Array]
    kept: MultiTaskEstimator


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
    from vmtl.cli._support.files import check_output
    from vmtl.methods import get_method

    get_method(method)
    check_output(out)
    started = time.perf_counter()
    trials = run_trials(method, steps, seeds, out, visible=not (quiet or json))
    if json:
        show_json({"model": str(out), "steps": steps, "seeds": seeds, "problems": [as_json(t) for t in trials]})
    else:
        show_trials(trials, method, out, time.perf_counter() - started, quiet)


def show_trials(trials: list[Trial], method: str, out: Path, seconds: float, quiet: bool) -> None:
    """Tables of scores and of who learns from whom, then what was seen and what to do next."""
    for trial in trials:
        show_scores(trial)
        show_weights(f"{trial.problem.name}: who learns from whom", trial.kept, MOST_PAIRS)
    note(f"{out}: the {method} model of {trials[0].problem.name}. {seconds:.0f} s.", quiet)
    for trial in trials:
        note(what_was_seen(trial, method), quiet)
    note(
        f"Look at the model with `vmtl info {out}`. Next, your own table: "
        "`vmtl fit train.csv --task COLUMN --target COLUMN --out model.vmtl`, then "
        "`vmtl predict model.vmtl new.csv --out predictions.csv`.",
        quiet,
    )


def run_trials(kept: str, steps: int, seeds: int, out: Path, visible: bool) -> list[Trial]:
    """Both embedded problems, with a sentence on what is to come and a progress bar."""
    from vmtl import METHODS, PRESETS
    from vmtl._utils.progress_bar import progress_bar
    from vmtl.datasets import load_digits_domains, load_rotated_digits

    note(
        f"{len(METHODS)} methods, 2 problems, {seeds} seeds; {steps} steps a fit (the default preset takes "
        f"{PRESETS['default'].max_steps}); cells are mean ± 95 % interval over seeds.",
        quiet=not visible,
    )
    plan = ((load_digits_domains(), 0.05), (load_rotated_digits(), 0.1))
    with progress_bar("Fits", len(plan) * seeds * len(METHODS), visible=visible) as done:
        return [run_trial(problem, share, kept, steps, seeds, out, done) for problem, share in plan]


def run_trial(
    problem: Problem, share: float, kept: str, steps: int, seeds: int, out: Path, done: Callable[[str], None]
) -> Trial:
    """Fit every method on ``share`` of the rows, once per seed; the first kept classifier is saved."""
    import numpy as np

    from vmtl import METHODS, MultiTaskClassifier, MultiTaskRegressor
    from vmtl.data.splits import random_split
    from vmtl.evaluation import gather

    estimator = MultiTaskClassifier if problem.is_classification else MultiTaskRegressor
    scores: dict[str, list[list[float]]] = {name: [] for name in METHODS}
    first: MultiTaskEstimator | None = None
    for seed in range(seeds):
        split = random_split(problem, share, seed)
        train, test = problem.subset(split.train), problem.subset(split.test)
        for name in METHODS:
            model = estimator(name, max_steps=steps, n_threads=1, random_state=seed).fit(
                train.X, train.labels, tasks=train.tasks
            )
            evidence = gather(model, test.X, test.labels, test.tasks)
            scores[name].append([evidence.score(evidence.rows(t)).value for t in evidence.present])
            if name == kept and first is None:
                first = model
                if problem.is_classification:
                    model.save(out, metadata={"task": "domain", "target": "label", "data": problem.name})
            done(f"{problem.name} {name}")
    arrays = {name: np.asarray(values) for name, values in scores.items()}
    assert first is not None
    return Trial(problem, evidence.measure, arrays, first)


def cells(trial: Trial, values: Array) -> list[str]:
    """Mean and interval over seeds: of the mean over tasks, then of every task."""
    import numpy as np

    from vmtl.evaluation.intervals import of_mean

    factor = 100 if trial.problem.is_classification else 1
    columns = np.column_stack([values.mean(axis=1), values]) * factor
    intervals = [of_mean(column) for column in columns.T]
    return [f"{i.value:.1f} ± {i.half:.1f}" if len(values) > 1 else f"{i.value:.1f}" for i in intervals]


def show_scores(trial: Trial) -> None:
    """The methods by tasks, best mean first, in tables that fit a terminal."""
    best_first = 1 if not trial.problem.is_classification else -1
    order = sorted(trial.scores, key=lambda name: best_first * trial.scores[name].mean())
    rows = {name: cells(trial, trial.scores[name]) for name in order}
    names = trial.problem.task_names
    unit = "accuracy in %, higher is better" if trial.problem.is_classification else "RMSE, lower is better"
    show_table(f"{trial.problem.name}: {unit}", ("method", "mean", *names), [(n, *rows[n]) for n in order])


def what_was_seen(trial: Trial, method: str) -> str:
    """The kept method beside every task alone and all rows pooled, in one sentence."""
    factor, unit = (100, " %") if trial.problem.is_classification else (1, "")

    def mean(name: str) -> str:
        return f"{factor * trial.scores[name].mean():.1f}{unit}"

    others = {"stl": "with every task alone", "pooled": "with all rows pooled"}
    against = " and ".join(f"{mean(name)} {how}" for name, how in others.items() if name != method)
    return f"{trial.problem.name}, mean {trial.measure}: {method} {mean(method)} against {against}."


def as_json(trial: Trial) -> dict[str, object]:
    """A trial as plain data."""
    interval = getattr(trial.kept, "alpha_interval_", None)
    return {
        "name": trial.problem.name,
        "measure": trial.measure,
        "tasks": trial.problem.task_names,
        "scores": {name: values.tolist() for name, values in trial.scores.items()},
        "alpha": trial.kept.alpha_.to_numpy().tolist(),
        "alpha_interval": None if interval is None else [end.to_numpy().tolist() for end in interval],
    }
