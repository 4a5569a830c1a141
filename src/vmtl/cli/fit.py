"""``vmtl fit``: a labelled table -> one model file."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vmtl._utils.progress_bar import progress_bar
from vmtl.cli._support.column_options import named_by_options
from vmtl.cli._support.console import command_line, note, show_json
from vmtl.cli._support.files import check_output
from vmtl.cli._support.model_choice import ModelChoice
from vmtl.cli._support.options import (
    Address,
    Debug,
    Drop,
    Encoding,
    Engine,
    Json,
    Kind,
    Missing,
    PaperMethod,
    Preset,
    Quiet,
    Relatedness,
    SetOption,
    Sheet,
    Steps,
    TargetColumn,
    TaskColumn,
    Types,
    Workers,
)
from vmtl.cli._support.reading import Reading

if TYPE_CHECKING:
    from vmtl.data.problem import Problem
    from vmtl.estimators import MultiTaskEstimator

LABELLED = "Labelled rows: CSV, TSV, Excel, Parquet, Feather, NPZ features, or a folder of Parquet files."
CheckpointFolder = Annotated[Path | None, typer.Option(help="Folder of checkpoints: a stopped run continues from it.")]
Folds = Annotated[
    int | None,
    typer.Option(min=2, help="So many further fits measure how far off predictions are: for --coverage of few rows."),
]
Holdout = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE", help="Keep this share of the rows of every task, such as 0.2, out of the fit and score them."
    ),
]
AtPrediction = Annotated[
    str, typer.Option(help="A task at prediction that was not in training: error, average or similar.")
]


def fit(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help=LABELLED)],
    out: Annotated[Path, typer.Option(help="The model file to write, for example model.vmtl.")],
    task: TaskColumn = None,
    target: TargetColumn = None,
    kind: Kind = "auto",
    relatedness: Relatedness = None,
    paper_method: PaperMethod = None,
    preset: Preset = None,
    steps: Steps = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same model.")] = 0,
    drop: Drop = None,
    types: Types = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    missing: Missing = "impute",
    unknown_task: AtPrediction = "error",
    option: SetOption = None,
    holdout: Holdout = None,
    checkpoint: CheckpointFolder = None,
    engine: Engine = None,
    workers: Workers = None,
    address: Address = None,
    folds: Folds = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit one model to all tasks of a table, and write a file that holds all that `predict` needs."""
    check_output(out, table)
    check_options(table, (checkpoint, folds, holdout, types, encoding, sheet), (engine, workers, address))
    reading = Reading.of_options(task, target, kind, drop, types, encoding, sheet)
    choice = ModelChoice.of_options(relatedness, paper_method, preset, steps, seed, option, quiet, unknown_task)
    choice.check_checkpoint(checkpoint)
    request = Request(table, out, reading, choice, missing, quiet, json)
    if table.is_dir():
        fit_folder(request, engine=engine or "local", workers=workers, address=address)
    else:
        fit_table(request, holdout, checkpoint, folds)


def check_options(
    source: Path, of_tables: tuple[object, ...], of_folders: tuple[str | None, int | None, str | None]
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
    reading: Reading
    choice: ModelChoice
    missing: str
    quiet: bool
    json: bool

    @property
    def columns(self) -> dict[str, str]:
        """The columns of the task and the target, as the model file records them."""
        return {"task": self.reading.task_column, "target": self.reading.target_column}

    def finish(self, model: MultiTaskEstimator, seconds: float, notes: dict[str, object], **shown: object) -> None:
        """Write the file, and say so; ``shown`` is for those who read JSON."""
        model.save(self.out, metadata={**notes, "seconds": round(seconds, 3)})
        if self.json:
            facts = {name: value for name, value in notes.items() if name != "profile"}
            show_json({"model": str(self.out), **self.choice.facts(), "seconds": seconds, **facts, **shown})
        done = f"{self.out}: {what_was_fitted(model)} in {seconds:.1f} s."
        note(done, self.quiet or self.json)


def fit_table(request: Request, share: float | None, checkpoint: Path | None, folds: int | None) -> None:
    """One model of a table that is read whole, with remarks about what it holds."""
    from vmtl.cli._support.advice import warnings_about, what_was_read
    from vmtl.cli._support.held_out import hold_out, show_held_out

    quiet, reading = request.quiet, request.reading
    with progress_bar(f"Reading {request.source.name}", visible=not quiet):
        problem = reading.problem(request.source)
        model = request.choice.for_problem(problem, reading.task_column, request.missing)
    note(what_was_read(problem, reading.target_column, forced=reading.kind != "auto"), quiet)
    warnings = [] if quiet and not request.json else list(warnings_about(problem, reading.target_column, not quiet))
    note("\n".join(f"Warning: {warning}" for warning in warnings), quiet or not warnings)
    learned, held = (problem, None) if share is None else hold_out(problem, share, request.choice.seed)
    seconds = train(model, learned, checkpoint, folds)
    scores = {} if held is None else show_held_out(model, held, learned.n_rows, request.json)
    request.finish(model, seconds, training_notes(learned, model, request), warnings=warnings, **scores)


def fit_folder(request: Request, **how: Any) -> None:
    """One model of all Parquet files of a folder."""
    from vmtl.cli._support.folders import has_classes

    folder, columns, reading = request.source, request.columns, request.reading
    with named_by_options(reading.assumed):
        is_classification = has_classes(folder, columns["target"], reading.kind)
        model = request.choice.make(is_classification, missing=request.missing, task_column=columns["task"])
        started = time.perf_counter()
        model.fit_parquet(folder, task=columns["task"], target=columns["target"], drop=reading.drop, **how)
    model.verbose, seconds = 0, time.perf_counter() - started
    rows = dict(zip(map(str, model.tasks_), map(int, model._fitted.task_rows.tolist()), strict=True))
    request.finish(model, seconds, {**columns, "data": folder.name, "rows": rows, **origin()})


def what_was_fitted(model: MultiTaskEstimator) -> str:
    """The kind of model, and how many gradient steps it took, if any."""
    history = getattr(model, "history_", None)
    if history is None:
        return "a Gaussian process of all tasks"
    return f"{model.method_.name}, {int(history['step'].iloc[-1])} steps"


def train(model: MultiTaskEstimator, problem: Problem, checkpoint: Path | None, folds: int | None = None) -> float:
    """Fit, with tasks and classes named as the user wrote them; the seconds it took."""
    from vmtl.cli._support.scores import as_fitted

    labels, tasks = as_fitted(problem)
    started = time.perf_counter()
    resumed = {} if checkpoint is None else {"checkpoint": checkpoint}
    model.fit(problem.X, labels, tasks=tasks, **resumed)
    if folds is not None:
        model.cross_calibrate(problem.X, labels, tasks=tasks, folds=folds)
    model.verbose = 0  # the file is for others, who choose for themselves
    return time.perf_counter() - started


def training_notes(problem: Problem, model: MultiTaskEstimator, request: Request) -> dict[str, object]:
    """What the model file says about its making; counts, names, means and a digest, no rows."""
    import numpy as np

    from vmtl.cli._support.drift import profile_of
    from vmtl.cli._support.loading import digest

    counts = np.bincount(problem.task, minlength=problem.n_tasks)
    return {
        **request.columns,
        "data": problem.name,
        "rows": dict(zip(problem.task_names, counts.tolist(), strict=True)),
        "digest": digest(problem, model),
        "profile": profile_of(problem).to_json(),
        **origin(),
    }


def origin() -> dict[str, object]:
    """The command as it was typed, and the versions that it ran on."""
    import platform

    import torch

    from vmtl import __version__

    versions = {"vmtl": __version__, "torch": str(torch.__version__), "python": platform.python_version()}
    return {"command": command_line(), "versions": versions}
