"""``vmtl cross-validate``: a labelled table -> scores of rows, or of whole tasks, that were held out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from vmtl._utils.progress_bar import progress_bar
from vmtl.cli._support.console import note, show_json, show_table
from vmtl.cli._support.model_choice import ModelChoice
from vmtl.cli._support.options import (
    Debug,
    Drop,
    Encoding,
    Json,
    Kind,
    LabelledTable,
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
)
from vmtl.cli._support.reading import Reading

if TYPE_CHECKING:
    from vmtl.cli._support.scores import Scores
    from vmtl.data.problem import Problem
    from vmtl.data.splits import Split
    from vmtl.evaluation import Evidence

LeaveTasksOut = Annotated[
    bool, typer.Option("--leave-tasks-out", help="Hold out whole tasks: how well is a new task predicted?")
]
AtTasks = Annotated[str, typer.Option(help="How tasks that are held out are predicted: average or similar.")]


def cross_validate(
    table: LabelledTable,
    task: TaskColumn = None,
    target: TargetColumn = None,
    kind: Kind = "auto",
    folds: Annotated[int, typer.Option(min=2, help="Parts that the rows, or the tasks, are dealt into.")] = 5,
    leave_tasks_out: LeaveTasksOut = False,
    unknown_task: AtTasks = "average",
    relatedness: Relatedness = None,
    paper_method: PaperMethod = None,
    preset: Preset = None,
    steps: Steps = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same folds and models.")] = 0,
    drop: Drop = None,
    types: Types = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    missing: Missing = "impute",
    option: SetOption = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Score a model on rows that it was not fitted to, every row once.

    Rows are dealt into folds within tasks; with `--leave-tasks-out`, each task is predicted without its own rows.
    """
    reading = Reading.of_options(task, target, kind, drop, types, encoding, sheet)
    problem = reading.problem(table)
    at_tasks = check_at_tasks(unknown_task)  # within tasks it is for those of a single row
    choice = ModelChoice.of_options(
        relatedness, paper_method, preset, steps, seed, option, quiet=True, unknown_task=at_tasks
    )
    splits = deal(problem, folds, seed, leave_tasks_out)
    parts = []
    with progress_bar("Folds", len(splits), visible=not (quiet or json)) as show:
        for split in splits:
            parts.append(score_fold(problem, split, choice, reading.task_column, missing))
            show()
    show_folds(f"{table}, {len(splits)} folds{' of tasks' if leave_tasks_out else ''}", parts, quiet, json)


def check_at_tasks(unknown_task: str) -> str:
    """How to predict tasks without training rows."""
    if unknown_task not in ("average", "similar"):
        raise ValueError(f"--unknown-task is {unknown_task!r}; choose average or similar.")
    return unknown_task


def deal(problem: Problem, folds: int, seed: int, leave_tasks_out: bool) -> list[Split]:
    """The folds, of rows or of tasks."""
    from vmtl.cli._support.held_out import folds_of_tasks, folds_within_tasks

    return list((folds_of_tasks if leave_tasks_out else folds_within_tasks)(problem, folds, seed))


def score_fold(problem: Problem, split: Split, choice: ModelChoice, task_column: str, missing: str) -> Evidence:
    """Predictions of the rows of a fold by a model of all others; tasks and classes numbered as in the whole table."""
    from vmtl.cli._support.held_out import predictions_of
    from vmtl.cli._support.scores import as_fitted

    labels, tasks = as_fitted(problem)
    model = choice.for_problem(problem, task_column, missing)
    learned = problem.subset(split.train)
    model.fit(learned.X, labels[split.train], tasks=tasks[split.train])
    return predictions_of(model, problem, split.test)


def show_folds(title: str, parts: list[Evidence], quiet: bool, json: bool) -> None:
    """The score of every fold, then those of all rows together, task by task."""
    from vmtl.cli._support.held_out import together
    from vmtl.cli._support.scores import score_rows, show_scores

    whole, folds = together(parts), fold_scores(parts)
    scores, mean = score_rows(whole), whole.mean_scores()
    if json:
        show_json({"folds": folds, "scores": scores, "mean_of_tasks": mean})
        return
    measure = whole.measure.lower()
    lines = [(str(fold["fold"]), fold["rows"], fold[measure], interval(fold)) for fold in folds]
    show_table(title, ("fold", "rows", measure, "95 %"), lines)
    show_scores("All folds together", scores, mean)
    note("The intervals take rows as independent; where rows resemble each other, they are too narrow.", quiet)


def fold_scores(parts: list[Evidence]) -> Scores:
    """One dict per fold: its rows and its main score with the interval."""
    import numpy as np

    scored: Scores = []
    for number, part in enumerate(parts, start=1):
        main = part.score(np.arange(len(part.y)))
        scored.append(
            {
                "fold": number,
                "rows": len(part.y),
                part.measure.lower(): main.value,
                "low": main.low,
                "high": main.high,
            }
        )
    return scored


def interval(fold: dict[str, object]) -> str:
    """The interval of a fold in one cell."""
    return f"{fold['low']:.3f} to {fold['high']:.3f}"
