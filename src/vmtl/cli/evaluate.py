"""``vmtl evaluate``: a model and labelled rows -> scores per task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from vmtl.cli._support.console import show_json, show_table
from vmtl.cli._support.options import Debug, Json, LabelledTable, ModelFile, UnknownTask

if TYPE_CHECKING:
    from vmtl.evaluation import Evidence


def evaluate(
    model: ModelFile,
    table: LabelledTable,
    task: Annotated[str | None, typer.Option(help="The task column, if it has another name than in training.")] = None,
    target: Annotated[str | None, typer.Option(help="The target column, if it has another name.")] = None,
    unknown_task: UnknownTask = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Score a model on labelled rows, task by task.

    Classification: accuracy with its 95 % interval, negative log likelihood, Brier score, expected calibration
    error, and the entropy of wrong over that of right predictions. Regression: root mean squared error with its
    95 % interval, NMSE (1 is as good as the mean) and negative log likelihood.
    """
    from vmtl.cli._support.loading import load_model, read_labelled
    from vmtl.evaluation import gather

    fitted = load_model(model, unknown_task)
    problem, tasks, labels = read_labelled(table, fitted, task, target)
    scores = score_rows(gather(fitted, problem.X, labels, tasks))
    if json:
        show_json({"model": str(model), "data": str(table), "scores": scores})
        return
    first, *rest = [name for name in scores[0] if name not in ("task", "rows", "low", "high")]
    show_table(
        f"{model} on {table}",
        ("task", "rows", first, "95 %", *rest),
        [
            (row["task"], row["rows"], row[first], f"{row['low']:.3f} to {row['high']:.3f}", *map(row.get, rest))
            for row in scores
        ],
    )


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
