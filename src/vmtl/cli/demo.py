"""``vmtl demo``: every method and two linear models on the two embedded problems; a model and its page."""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vmtl._utils.missing_extra import require
from vmtl.cli._support.console import command_line, note, show_json, show_table
from vmtl.cli._support.options import Debug, Json, Quiet, method_names
from vmtl.cli._support.relatedness import show_structure

if TYPE_CHECKING:
    from vmtl.data.problem import Problem
    from vmtl.estimators import MultiTaskEstimator
    from vmtl.evaluation import Evidence

#: What a user would type without this package; the third reference row takes longer than it tells.
LINEAR = ("per_task_linear", "pooled_linear")
#: Tasks that have a column of their own in a table of 80 characters.
MOST_COLUMNS = 4


@dataclass(frozen=True)
class Trial:
    """One problem: a fitted model, predictions by it and by others on the test rows, what the structure is worth."""

    problem: Problem
    method: str
    n_train: int
    model: MultiTaskEstimator
    evidence: Evidence
    others: dict[str, Evidence]
    worth: dict[str, float] | None

    @property
    def best_first(self) -> dict[str, Evidence]:
        """Everything that was fitted, by its mean score."""
        sign = -1 if self.problem.is_classification else 1
        every = {self.method: self.evidence, **self.others}
        return dict(sorted(every.items(), key=lambda item: sign * item[1].mean_score()))


def demo(
    out: Annotated[Path, typer.Option(help="The model file to write.")] = Path("demo.vmtl"),
    page: Annotated[Path, typer.Option(help="The page on that model to write.")] = Path("demo.html"),
    method: Annotated[
        str, typer.Option(help="The method whose model is kept and shown.", autocompletion=method_names)
    ] = "vmtl",
    steps: Annotated[int, typer.Option(min=1, help="Gradient steps of the methods to compare with.")] = 60,
    seed: Annotated[int, typer.Option(min=0, help="Which rows are for training.")] = 0,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Compare every method on embedded data, show who is like whom, save a model and its page; a minute or two.

    Digits scanned at four tilts (classification, each tilt a task) and rotated digits (regression of the angle,
    each digit a task), both from scikit-learn's bundled images.
    """
    from vmtl.cli._support.files import check_output

    require("report", "The demonstration", "matplotlib", "jinja2", "markupsafe")
    check_output(out)
    check_output(page, out)
    started = time.perf_counter()
    note(
        "Two problems with few training rows: all methods of `vmtl methods`, and linear models. "
        f"{method} is fitted as by default; others that take gradient steps take {steps}, to be quick.",
        quiet or json,
    )
    trials = run_trials(method, steps, seed, visible=not (quiet or json))
    save(trials[0], out, page)
    if json:
        document = {"model": str(out), "page": str(page), "steps": steps, "seed": seed}
        show_json({**document, "problems": [as_json(trial) for trial in trials]})
    else:
        show_trials(trials, quiet)
        note(what_next(out, page, time.perf_counter() - started), quiet)


def run_trials(method: str, steps: int, seed: int, visible: bool) -> list[Trial]:
    """Both embedded problems, with a progress bar that is there before PyTorch is."""
    from vmtl._utils.progress_bar import progress_bar

    with progress_bar("Fits", visible=visible) as done:
        done("loading PyTorch and the digits", 0)
        from vmtl.datasets import load_digits_domains, load_rotated_digits
        from vmtl.paper.methods import METHODS, get_method

        get_method(method)
        plan = ((load_digits_domains(), 0.05), (load_rotated_digits(), 0.1))
        done(plan[0][0].name, 0, len(plan) * (len(METHODS) + len(LINEAR)))
        return [run_trial(problem, share, method, steps, seed, done) for problem, share in plan]


def run_trial(problem: Problem, share: float, method: str, steps: int, seed: int, done: Callable[[str], None]) -> Trial:
    """Fit ``method`` as by default and everything else on ``share`` of the rows, and predict the others."""
    from vmtl import METHODS, MultiTaskClassifier, MultiTaskRegressor
    from vmtl.data.splits import random_split
    from vmtl.evaluation import Labelled, compare, gather, structure_worth_of

    split = random_split(problem, share, seed)
    train, test = (
        Labelled(side.X, side.labels, side.tasks) for side in (problem.subset(split.train), problem.subset(split.test))
    )
    estimator = MultiTaskClassifier if problem.is_classification else MultiTaskRegressor
    model = estimator(method, n_threads=1, random_state=seed).fit(train.X, train.y, tasks=train.tasks)
    evidence = gather(model, test.X, test.y, test.tasks)
    done(f"{problem.name} {method}")
    names = [name for name in (*METHODS, *LINEAR) if name != method]
    quick = copy(model).set_params(max_steps=steps)
    others = compare(quick, evidence, train, test, names, lambda name: done(f"{problem.name} {name}"))
    return Trial(problem, method, len(train.y), model, evidence, others, structure_worth_of(model, train))


def save(trial: Trial, out: Path, page: Path) -> None:
    """The model file, and the page on it."""
    from vmtl import __version__
    from vmtl._utils.atomic_files import write_atomically
    from vmtl.report import render

    metadata = {"task": "domain", "target": "label", "data": trial.problem.name}
    trial.model.save(out, metadata=metadata)
    facts: dict[str, object] = {
        "data": "scikit-learn's bundled digits, each scanned at one of four tilts",
        "rows": f"{trial.n_train} for training, {len(trial.evidence.y)} for the test",
        "model file": out.name,
        "page written by": command_line(),
        "vmtl": __version__,
    }
    text = render(trial.model, trial.evidence, trial.others, None, facts, "Digits at four tilts", worth=trial.worth)
    write_atomically(page, text.encode())


def show_trials(trials: list[Trial], quiet: bool) -> None:
    """Scores of every method, then what the first model has learned about its tasks."""
    for trial in trials:
        show_scores(trial)
    first = trials[0]
    show_structure(f"{first.problem.name}, who learns from whom", first.model, len(first.model.tasks_))
    note(about_neighbours(first), quiet)
    for trial in trials:
        note(what_was_seen(trial), quiet)


def show_scores(trial: Trial) -> None:
    """The methods, best mean first: mean over tasks, the lead of the kept one, and the tasks or their extremes."""
    from vmtl.evaluation.comparison import lead

    is_classification, kept = trial.problem.is_classification, trial.method
    factor, unit = (100, "accuracy in %, higher is better") if is_classification else (1, "RMSE, lower is better")
    rows = []
    for name, evidence in trial.best_first.items():
        ahead = lead(trial.evidence, evidence)
        by = "" if name == kept else f"{factor * ahead.value:+.1f} ± {factor * ahead.half:.1f}"
        rows.append((name, f"{factor * evidence.mean_score():.1f}", by, *cells_of_tasks(evidence, factor)))
    tasks = trial.problem.task_names
    columns = tasks if len(tasks) <= MOST_COLUMNS else ("best task", "worst task")
    show_table(
        f"{trial.problem.name}, {trial.n_train} training rows: {unit}; lead: how far {kept} is ahead, ± 95 % over "
        f"{len(trial.evidence.y)} test rows",
        ("method", "mean", "lead", *columns),
        rows,
    )


def cells_of_tasks(evidence: Evidence, factor: float) -> list[str]:
    """The score of every task, or of the best and the worst where they are many."""
    scores = {evidence.tasks[t]: factor * evidence.score(evidence.rows(t)).value for t in evidence.present}
    if len(scores) <= MOST_COLUMNS:
        return [f"{value:.1f}" for value in scores.values()]
    extremes = sorted(scores, key=lambda task: scores[task], reverse=evidence.p is not None)
    return [f"{task} {scores[task]:.1f}" for task in (extremes[0], extremes[-1])]


def about_neighbours(trial: Trial) -> str:
    """How many of the tasks, which stand in the order of their angles, learn most from a neighbour."""
    import numpy as np

    strongest = np.asarray(trial.model.alpha_).argmax(axis=1)
    n_found = int((abs(strongest - np.arange(len(strongest))) == 1).sum())
    return (
        f"Tilts differ by steps of 20 degrees, which the model was not told: {n_found} of {len(strongest)} learn most "
        "from a neighbour."
    )


def what_was_seen(trial: Trial) -> str:
    """The kept method beside every task alone and all rows pooled, in one sentence."""
    factor, unit = (100, " %") if trial.problem.is_classification else (1, "")
    every, kept = trial.best_first, trial.method
    others = {"stl": "with every task alone", "pooled": "with all rows pooled"}
    mean = {name: f"{factor * every[name].mean_score():.1f}{unit}" for name in (kept, *others)}
    against = " and ".join(f"{mean[name]} {how}" for name, how in others.items() if name != kept)
    return f"{trial.problem.name}, mean {trial.evidence.measure}: {kept} {mean[kept]} against {against}."


def what_next(out: Path, page: Path, seconds: float) -> str:
    """Where everything is, and how to go on with a table of one's own."""
    return "\n".join(
        (
            f"{seconds:.0f} s. Open {page} in a browser; `vmtl info {out}` shows what the model holds.",
            "Next, your own table: one column says which task a row belongs to, one is the target.",
            "  vmtl fit train.csv --task COLUMN --target COLUMN --out model.vmtl",
            "  vmtl predict model.vmtl new.csv --out predictions.csv",
            "  vmtl report model.vmtl --data labelled.csv --out report.html",
        )
    )


def as_json(trial: Trial) -> dict[str, object]:
    """A trial as plain data."""

    def ends(name: str) -> list[object] | None:
        pair = getattr(trial.model, f"{name}_interval_", None)
        return None if pair is None else [end.to_numpy().tolist() for end in pair]

    def scores(evidence: Evidence) -> list[float]:
        return [evidence.score(evidence.rows(t)).value for t in evidence.present]

    return {
        "name": trial.problem.name,
        "measure": trial.evidence.measure,
        "tasks": trial.problem.task_names,
        "scores": {name: scores(evidence) for name, evidence in trial.best_first.items()},
        "alpha": trial.model.alpha_.to_numpy().tolist(),
        "alpha_interval": ends("alpha"),
        "beta": trial.model.beta_.to_numpy().tolist(),
        "beta_interval": ends("beta"),
    }
