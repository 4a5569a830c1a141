"""Scores on labelled rows, per task and together, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vmtl.cli._support.console import note, show_table
from vmtl.cli._support.relatedness import cut_name

if TYPE_CHECKING:
    from vmtl._utils.types import Array
    from vmtl.data.problem import Problem
    from vmtl.evaluation import Evidence

#: The name of the last line; those of tasks are at most as long.
MEAN = "(mean of tasks)"
ALL = "(all rows)"
#: Tasks that have a line of their own.
MOST_TASKS = 20
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
Scores = list[dict[str, object]]


def show_scores(title: str, scores: Scores, mean: dict[str, float]) -> None:
    """A line per task, one for all rows, and the mean of the tasks; of many tasks those with most rows."""
    first, *rest = [name for name in scores[0] if name not in ("task", "rows", "low", "high")]
    tasks = scores[:-1]
    if len(tasks) > MOST_TASKS:
        kept = sorted(range(len(tasks)), key=lambda place: (-int(str(tasks[place]["rows"])), place))[:MOST_TASKS]
        tasks = [tasks[place] for place in sorted(kept)]
    lines = [
        (cut_name(str(row["task"]), len(MEAN)), row["rows"], row[first], interval_text(row), *map(row.get, rest))
        for row in [*tasks, scores[-1]]
    ]
    lines.append((MEAN, None, mean[first], None, *map(mean.get, rest)))
    show_table(title, ("task", "rows", first, "95 %", *map(SHORT_NAMES.get, rest, rest)), lines)
    if len(tasks) < len(scores) - 1:
        note(f"The table has the {len(tasks)} tasks with the most rows, of {len(scores) - 1}; --json prints all.")


def interval_text(row: dict[str, object]) -> str | None:
    """The interval of a row of scores in one cell; None where there are too few rows to say."""
    low, high = row["low"], row["high"]
    return f"{low:.3f} to {high:.3f}" if low == low else None


def score_rows(evidence: Evidence) -> Scores:
    """One dict per task that has rows, then one for all rows."""
    import numpy as np

    groups = [(evidence.tasks[t], evidence.rows(t)) for t in evidence.present]
    scored: Scores = []
    for name, rows in [*groups, (ALL, np.arange(len(evidence.y)))]:
        main = evidence.score(rows)
        scores = {k: v for k, v in evidence.scores(rows).items() if k != evidence.measure.lower()}
        interval = {evidence.measure.lower(): main.value, "low": main.low, "high": main.high}
        scored.append({"task": name, "rows": len(rows), **interval, **scores})
    return scored


def as_fitted(problem: Problem) -> tuple[Array, Array]:
    """Labels and tasks named as the user wrote them, which is how a model from the command line knows them."""
    from vmtl.cli._support.loading import as_written

    labels = as_written(problem.class_names)[problem.y] if problem.class_names else problem.y
    return labels, as_written(problem.task_names)[problem.task]
