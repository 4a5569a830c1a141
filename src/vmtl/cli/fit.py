"""``vmtl fit``: a labelled table -> one model file."""

from __future__ import annotations

import json as json_module
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vmtl._utils.progress_bar import progress_bar
from vmtl.cli._support.console import command_line, note, show_json
from vmtl.cli._support.options import Debug, Json, Kind, LabelledTable, Quiet, method_names

if TYPE_CHECKING:
    from vmtl.data.problem import Problem
    from vmtl.estimators import MultiTaskEstimator

Missing = Annotated[str, typer.Option(help="Gaps in the features: impute or error.")]
Preset = Annotated[
    str, typer.Option(help="default, paper or released.", autocompletion=lambda: ["default", "paper", "released"])
]
Option = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any other option of the estimator; may be repeated."),
]
CheckpointFolder = Annotated[Path | None, typer.Option(help="Folder of checkpoints: a stopped run continues from it.")]
Folds = Annotated[
    int | None,
    typer.Option(min=2, help="So many further fits measure how far off predictions are: for --coverage of few rows."),
]
AtPrediction = Annotated[
    str, typer.Option(help="A task at prediction that was not in training: error, average or similar.")
]


def fit(
    table: LabelledTable,
    out: Annotated[Path, typer.Option(help="The model file to write, for example model.vmtl.")],
    task: Annotated[str, typer.Option(help="The column that says which task a row belongs to.")] = "domain",
    target: Annotated[str, typer.Option(help="The column to predict.")] = "label",
    kind: Kind = "auto",
    method: Annotated[str, typer.Option(help="A method of `vmtl methods`.", autocompletion=method_names)] = "vmtl",
    preset: Preset = "default",
    steps: Annotated[int | None, typer.Option(min=1, help="Training steps; the preset's number if left out.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same model.")] = 0,
    drop: Annotated[list[str] | None, typer.Option(help="A column to leave out; may be repeated.")] = None,
    missing: Missing = "impute",
    unknown_task: AtPrediction = "error",
    option: Option = None,
    checkpoint: CheckpointFolder = None,
    folds: Folds = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit one model to all tasks of a table.

    Text and date columns and gaps are encoded by the model; the file holds all that `predict` needs. Columns that look
    like identifiers, that never change or that alone give the target away are pointed out.
    """
    from vmtl.cli._support.advice import warnings_about, what_was_read
    from vmtl.cli._support.files import check_output

    check_output(out, table)
    named = {"method": method, "preset": preset, "max_steps": steps, "random_state": seed, "unknown_task": unknown_task}
    with progress_bar(f"Reading {table.name}", visible=not quiet):
        problem = read_problem(table, task, target, kind, drop)
        model = make_model(problem, {**named, **of_tables(problem, task, missing), "verbose": int(not quiet)}, option)
    note(what_was_read(problem, target, forced=kind != "auto"), quiet)
    warnings = [] if quiet and not json else list(warnings_about(problem, visible=not quiet))
    note("\n".join(f"Warning: {warning}" for warning in warnings), quiet or not warnings)
    seconds, notes = train(model, problem, checkpoint, folds), training_notes(problem, model, task, target)
    model.save(out, metadata={**notes, "seconds": round(seconds, 3)})
    if json:
        show_json({"model": str(out), "method": method, "seconds": seconds, **notes, "warnings": warnings})
    note(f"{out}: {model.method_.name}{steps_taken(model)} in {seconds:.1f} s.", quiet or json)


def steps_taken(model: MultiTaskEstimator) -> str:
    """How many gradient steps a fit took; nothing where it took none."""
    steps = int(model.history_["step"].iloc[-1])
    return f", {steps} steps" if steps > 1 else ""


def read_problem(table: Path, task: str, target: str, kind: str, drop: list[str] | None) -> Problem:
    """The labelled rows of a table that has some."""
    from vmtl.datasets import read_table

    problem = read_table(table, task, target, kind=kind, drop=drop or ())
    if not problem.n_rows:
        raise ValueError(f"{table} has no rows; give at least one per task.")
    if problem.class_names is not None and problem.n_classes == 1:
        only = problem.class_names[0]
        raise ValueError(f"Target {target!r} of {table} is {only!r} in every row; give rows of at least two classes.")
    return problem


def of_tables(problem: Problem, task: str, missing: str) -> dict[str, object]:
    """Options for columns with names; an array is left as it is, unless it has gaps."""
    import numpy as np

    if hasattr(problem.X, "columns"):
        return {"task_column": task, "missing": missing}
    return {"missing": missing} if np.isnan(problem.X).any() else {}


def make_model(problem: Problem, options: dict[str, Any], pairs: list[str] | None) -> MultiTaskEstimator:
    """The estimator for this kind of problem; what ``--set`` says has the last word."""
    from vmtl import MultiTaskClassifier, MultiTaskRegressor

    estimator: type[MultiTaskEstimator] = MultiTaskClassifier if problem.is_classification else MultiTaskRegressor
    return estimator(**(options | parse_options(pairs or (), estimator().get_params())))


def train(model: MultiTaskEstimator, problem: Problem, checkpoint: Path | None, folds: int | None = None) -> float:
    """Fit, with tasks and classes named as the user wrote them; the seconds it took."""
    from vmtl.cli._support.loading import as_written

    labels = as_written(problem.class_names)[problem.y] if problem.class_names else problem.y
    started = time.perf_counter()
    tasks = as_written(problem.task_names)[problem.task]
    model.fit(problem.X, labels, tasks=tasks, checkpoint=checkpoint)
    if folds is not None:
        model.cross_calibrate(problem.X, labels, tasks=tasks, folds=folds)
    model.verbose = 0  # the file is for others, who choose for themselves
    return time.perf_counter() - started


def training_notes(problem: Problem, model: MultiTaskEstimator, task: str, target: str) -> dict[str, object]:
    """What the model file says about its making; counts, names and a digest, no rows."""
    import platform

    import numpy as np
    import torch

    from vmtl import __version__
    from vmtl.cli._support.loading import digest

    counts = np.bincount(problem.task, minlength=problem.n_tasks)
    return {
        "task": task,
        "target": target,
        "data": problem.name,
        "rows": dict(zip(problem.task_names, counts.tolist(), strict=True)),
        "digest": digest(problem, model),
        "command": command_line(),
        "versions": {"vmtl": __version__, "torch": str(torch.__version__), "python": platform.python_version()},
    }


def parse_options(pairs: Iterable[str], known: dict[str, Any]) -> dict[str, Any]:
    """``name=value`` pairs as estimator parameters; a value is JSON, or else text."""
    options = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or name not in known:
            raise ValueError(f"--set {pair!r} is not NAME=VALUE with a NAME among {', '.join(sorted(known))}.")
        try:
            options[name] = json_module.loads(text)
        except ValueError:
            options[name] = text
    return options
