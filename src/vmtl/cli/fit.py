"""``vmtl fit``: a labelled table -> one model file."""

from __future__ import annotations

import json as json_module
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vmtl._utils.progress_bar import progress_bar
from vmtl.cli._support.column_options import DEFAULT_TARGET, DEFAULT_TASK, named_by_options
from vmtl.cli._support.console import command_line, note, show_json
from vmtl.cli._support.files import check_output
from vmtl.cli._support.options import Address, Debug, Engine, Json, Kind, Quiet, Workers, method_names

if TYPE_CHECKING:
    from vmtl.data.problem import Problem
    from vmtl.estimators import MultiTaskEstimator

LABELLED = "Labelled rows: CSV, TSV, Parquet, Feather, NPZ features, or a folder of Parquet files."
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
TaskColumn = Annotated[
    str | None, typer.Option(help="The column that says which task a row belongs to.", show_default=DEFAULT_TASK)
]
TargetColumn = Annotated[str | None, typer.Option(help="The column to predict.", show_default=DEFAULT_TARGET)]
AtPrediction = Annotated[
    str, typer.Option(help="A task at prediction that was not in training: error, average or similar.")
]


def fit(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help=LABELLED)],
    out: Annotated[Path, typer.Option(help="The model file to write, for example model.vmtl.")],
    task: TaskColumn = None,
    target: TargetColumn = None,
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
    engine: Engine = None,
    workers: Workers = None,
    address: Address = None,
    folds: Folds = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit one model to all tasks of a table.

    The file holds all that `predict` needs. Columns that are seldom intended are pointed out. A folder may be large.
    """
    check_output(out, table)
    check_options(table, (checkpoint, folds), (engine, workers, address))
    named = named_options(method, preset, steps, seed, unknown_task, quiet)
    columns = (task or DEFAULT_TASK, target or DEFAULT_TARGET)
    request = Request(table, out, *columns, kind, tuple(drop or ()), named, tuple(option or ()), quiet, json)
    with named_by_options([name for name, given in {"task": task, "target": target}.items() if not given]):
        if table.is_dir():
            fit_folder(request, missing, engine=engine or "local", workers=workers, address=address)
        else:
            fit_table(request, missing, checkpoint, folds)


def check_options(
    source: Path, of_tables: tuple[Path | None, int | None], of_folders: tuple[str | None, int | None, str | None]
) -> None:
    """Refuse what only a folder, or only a table, has a use for."""
    from vmtl.cli._support.folders import check_engine, check_not_given

    if source.is_dir():
        check_not_given(*of_tables)
    else:
        check_engine(source, *of_folders)


@dataclass(frozen=True)
class Request:
    """What was asked for, of a table or of a folder."""

    source: Path
    out: Path
    task: str
    target: str
    kind: str
    drop: tuple[str, ...]
    named: dict[str, Any]  # options of the estimator with an option of their own
    pairs: tuple[str, ...]  # NAME=VALUE of others
    quiet: bool
    json: bool

    def make_model(self, is_classification: bool, **options: object) -> MultiTaskEstimator:
        """The estimator for this kind of target; what ``--set`` says has the last word."""
        from vmtl import MultiTaskClassifier, MultiTaskRegressor

        estimator: type[MultiTaskEstimator] = MultiTaskClassifier if is_classification else MultiTaskRegressor
        return estimator(**(self.named | options | parse_options(self.pairs, estimator().get_params())))

    def finish(self, model: MultiTaskEstimator, seconds: float, notes: dict[str, object], **shown: object) -> None:
        """Write the file, and say so; ``shown`` is for those who read JSON."""
        model.save(self.out, metadata={**notes, "seconds": round(seconds, 3)})
        if self.json:
            show_json({"model": str(self.out), "method": self.named["method"], "seconds": seconds, **notes, **shown})
        done = f"{self.out}: {model.method_.name}{steps_taken(model)} in {seconds:.1f} s."
        note(done, self.quiet or self.json)


def named_options(
    method: str, preset: str, steps: int | None, seed: int, unknown_task: str, quiet: bool
) -> dict[str, Any]:
    """Options of the estimator that have an option of their own on the command line."""
    named = {"method": method, "preset": preset, "max_steps": steps, "random_state": seed}
    return {**named, "unknown_task": unknown_task, "verbose": int(not quiet)}


def fit_table(request: Request, missing: str, checkpoint: Path | None, folds: int | None) -> None:
    """One model of a table that is read whole, with remarks about what it holds."""
    from vmtl.cli._support.advice import warnings_about, what_was_read

    quiet = request.quiet
    with progress_bar(f"Reading {request.source.name}", visible=not quiet):
        problem = read_problem(request)
        model = request.make_model(problem.is_classification, **of_tables(problem, request.task, missing))
    note(what_was_read(problem, request.target, forced=request.kind != "auto"), quiet)
    warnings = [] if quiet and not request.json else list(warnings_about(problem, visible=not quiet))
    note("\n".join(f"Warning: {warning}" for warning in warnings), quiet or not warnings)
    seconds = train(model, problem, checkpoint, folds)
    request.finish(model, seconds, training_notes(problem, model, request), warnings=warnings)


def fit_folder(request: Request, missing: str, **how: Any) -> None:
    """One model of all Parquet files of a folder."""
    from vmtl.cli._support.folders import has_classes

    folder, task, target = request.source, request.task, request.target
    model = request.make_model(has_classes(folder, target, request.kind), missing=missing, task_column=task)
    started = time.perf_counter()
    model.fit_parquet(folder, task=task, target=target, drop=request.drop, **how)
    model.verbose, seconds = 0, time.perf_counter() - started
    rows = dict(zip(map(str, model.tasks_), map(int, model._fitted.model.task_rows.tolist()), strict=True))
    request.finish(model, seconds, {"task": task, "target": target, "data": folder.name, "rows": rows, **origin()})


def steps_taken(model: MultiTaskEstimator) -> str:
    """How many gradient steps a fit took; nothing where it took none."""
    steps = int(model.history_["step"].iloc[-1])
    return f", {steps} steps" if steps > 1 else ""


def read_problem(request: Request) -> Problem:
    """The labelled rows of a table that has some."""
    from vmtl.datasets import read_table

    table, target = request.source, request.target
    problem = read_table(table, request.task, target, kind=request.kind, drop=request.drop)
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


def training_notes(problem: Problem, model: MultiTaskEstimator, request: Request) -> dict[str, object]:
    """What the model file says about its making; counts, names and a digest, no rows."""
    import numpy as np

    from vmtl.cli._support.loading import digest

    counts = np.bincount(problem.task, minlength=problem.n_tasks)
    return {
        "task": request.task,
        "target": request.target,
        "data": problem.name,
        "rows": dict(zip(problem.task_names, counts.tolist(), strict=True)),
        "digest": digest(problem, model),
        **origin(),
    }


def origin() -> dict[str, object]:
    """The command as it was typed, and the versions that it ran on."""
    import platform

    import torch

    from vmtl import __version__

    versions = {"vmtl": __version__, "torch": str(torch.__version__), "python": platform.python_version()}
    return {"command": command_line(), "versions": versions}


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
