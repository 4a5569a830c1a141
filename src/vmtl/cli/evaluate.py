"""``vmtl evaluate``: a model and labelled rows -> scores per task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from vmtl.cli._support.console import note, printable, show_json, show_table
from vmtl.cli._support.options import Debug, Json, LabelledTable, ModelFile, Positive, UnknownTask
from vmtl.cli._support.relatedness import cut_name

if TYPE_CHECKING:
    from vmtl.evaluation import Evidence

#: The name of the last line; those of tasks are at most as long.
MEAN = "(mean of tasks)"
#: Scores whose names would be wider than their numbers.
SHORT_NAMES = {
    "auc": "AUC",
    "balanced_accuracy": "balanced",
    "f1": "F1",
    "ece_perfect": "if perfect",
    "entropy_ratio": "entropy ratio",
    "r2": "R2",
    "coverage": "in 90 % by std",
    "covered": "in 90 %",
    "set_size": "set size",
    "interval_width": "width",
}


def evaluate(
    model: ModelFile,
    table: LabelledTable,
    task: Annotated[str | None, typer.Option(help="The task column, if it has another name than in training.")] = None,
    target: Annotated[str | None, typer.Option(help="The target column, if it has another name.")] = None,
    positive: Positive = None,
    unknown_task: UnknownTask = None,
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
    from vmtl.cli._support.training_rows import seen_before
    from vmtl.evaluation import gather

    fitted = load_model(model, unknown_task)
    problem, tasks, labels = read_labelled(table, fitted, task, target)
    evidence = gather(fitted, problem.X, labels, tasks, positive)
    scores, mean, warnings = score_rows(evidence), evidence.mean_scores(), seen_before(fitted, problem)
    if json:
        facts = {"model": str(model), "data": str(table), "scores": scores, "mean_of_tasks": mean}
        show_json({**facts, "warnings": warnings})
        return
    show_scores(f"{model} on {table}", scores, mean)
    if evidence.classes is not None and len(evidence.classes) == 2:
        typer.echo(printable(f"F1 is that of {evidence.classes[evidence.positive]!r}; --positive names the other."))
    for warning in warnings:
        note(f"Warning: {warning}")


def show_scores(title: str, scores: list[dict[str, object]], mean: dict[str, float]) -> None:
    """A line per task, one for all rows, and the mean of the tasks."""
    first, *rest = [name for name in scores[0] if name not in ("task", "rows", "low", "high")]
    lines = [
        (cut_name(str(row["task"]), len(MEAN)), row["rows"], row[first], interval_text(row), *map(row.get, rest))
        for row in scores
    ]
    lines.append((MEAN, None, mean[first], None, *map(mean.get, rest)))
    show_table(title, ("task", "rows", first, "95 %", *map(SHORT_NAMES.get, rest, rest)), lines)


def interval_text(row: dict[str, object]) -> str | None:
    """The interval of a row of scores in one cell; None where there are too few rows to say."""
    low, high = row["low"], row["high"]
    return f"{low:.3f} to {high:.3f}" if low == low else None


def score_rows(evidence: Evidence) -> list[dict[str, object]]:
    """One dict per task that has rows, then one for all rows."""
    import numpy as np

    groups = [(evidence.tasks[t], evidence.rows(t)) for t in evidence.present]
    scored: list[dict[str, object]] = []
    for name, rows in [*groups, ("(all rows)", np.arange(len(evidence.y)))]:
        main = evidence.score(rows)
        scores = {k: v for k, v in evidence.scores(rows).items() if k != evidence.measure.lower()}
        interval = {evidence.measure.lower(): main.value, "low": main.low, "high": main.high}
        scored.append({"task": name, "rows": len(rows), **interval, **scores})
    return scored
