"""``vmtl evaluate``: a model and labelled rows -> scores per task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from vmtl.cli._support.console import note, printable, show_json
from vmtl.cli._support.options import (
    Debug,
    Encoding,
    Json,
    LabelledTable,
    ModelFile,
    Positive,
    Sheet,
    UnknownOrSkip,
)
from vmtl.cli._support.scores import score_rows, show_scores

if TYPE_CHECKING:
    from vmtl._utils.types import Array
    from vmtl.data.problem import Problem
    from vmtl.estimators import MultiTaskEstimator


def evaluate(
    model: ModelFile,
    table: LabelledTable,
    task: Annotated[str | None, typer.Option(help="The task column, if it has another name than in training.")] = None,
    target: Annotated[str | None, typer.Option(help="The target column, if it has another name.")] = None,
    positive: Positive = None,
    unknown_task: UnknownOrSkip = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Score a model on labelled rows, task by task, all rows together, and on average over the tasks.

    Classification: accuracy with its 95 % interval; AUC (area under the ROC curve), balanced accuracy and F1, which
    a model that never predicts a rare event cannot make look good; negative log likelihood, Brier score, expected
    calibration error beside that of a perfect model, and the entropy of wrong over that of right predictions.
    Regression: root mean squared error with its 95 % interval, R2, mean absolute error, NMSE (1 is as good as the
    mean), negative log likelihood, and the share of targets inside the 90 % interval that the standard deviation
    gives. Where the fit left what they need: how often the 90 % sets of classes, or intervals, of `predict --coverage`
    hold the target, and their mean size. A dash stands for what the rows of a task cannot tell, such as the AUC of a
    single class.
    """
    from vmtl.cli._support.loading import load_model, read_labelled
    from vmtl.evaluation import gather

    fitted = load_model(model, None if unknown_task == "skip" else unknown_task)
    labelled = read_labelled(table, fitted, task, target, encoding=encoding, sheet=sheet)
    (X, tasks, labels), warnings = choose_rows(fitted, *labelled, skips=unknown_task == "skip")
    evidence = gather(fitted, X, labels, tasks, positive)
    scores, mean = score_rows(evidence), evidence.mean_scores()
    if json:
        facts = {"model": str(model), "data": str(table), "scores": scores, "mean_of_tasks": mean}
        show_json({**facts, "warnings": warnings})
        return
    show_scores(f"{model} on {table}", scores, mean)
    if evidence.classes is not None and len(evidence.classes) == 2:
        typer.echo(printable(f"F1 is that of {evidence.classes[evidence.positive]!r}; --positive names the other."))
    for warning in warnings:
        note(f"Warning: {warning}")


def choose_rows(
    model: MultiTaskEstimator, problem: Problem, tasks: Array, labels: Array, skips: bool
) -> tuple[tuple[Array, Array, Array], list[str]]:
    """Features, tasks and labels of the rows to score, without those of unknown tasks if asked for; and warnings."""
    from vmtl.cli._support.reading import remark_on
    from vmtl.cli._support.training_rows import seen_before
    from vmtl.cli._support.unknown import known_rows

    warnings = [*filter(None, [remark_on(problem.X)]), *seen_before(model, problem)]
    if not skips:
        return (problem.X, tasks, labels), warnings
    known, skipped = known_rows(model, tasks)
    return (problem.subset(known).X, tasks[known], labels[known]), [*warnings, *skipped]
