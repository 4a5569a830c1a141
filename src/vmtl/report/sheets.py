"""Tables of the page: what a cell shows and by what it sorts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vmtl.evaluation.comparison import Gain
from vmtl.evaluation.decisions import Decision
from vmtl.evaluation.importance import Importance
from vmtl.evaluation.intervals import Interval
from vmtl.evaluation.scored_predictions import Evidence
from vmtl.paper.methods import METHODS
from vmtl.report.arrows import Arrow, Control, even_weight
from vmtl.report.finding import Finding
from vmtl.report.many_tasks import Crowd

#: Arrows that the list names.
MOST_ARROWS = 40
#: Tasks that can be columns of the table of methods.
MOST_TASK_COLUMNS = 12
#: Between the ends of an interval, where no line may break.
TO = "\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}"
_NAMES = {
    "accuracy": "accuracy",
    "nll": "log loss",
    "brier": "Brier",
    "ece": "ECE",
    "ece_perfect": "ECE if perfect",
    "entropy_ratio": "entropy wrong / right",
    "rmse": "RMSE",
    "nmse": "NMSE",
    "auc": "AUC",
    "balanced_accuracy": "balanced accuracy",
    "f1": "F1",
    "r2": "R²",
    "mae": "mean absolute error",
    "coverage": "inside 90 % by its deviation",
    "covered": "inside 90 % set or interval",
    "set_size": "mean size of the set",
    "interval_width": "mean width of the interval",
}
_ECE_NOTE = (
    "ECE, the expected calibration error, is above 0 by chance alone, most on few rows; beside it stands what a "
    "perfectly calibrated model with the same probabilities would score on as many rows. A dash is what the rows of a "
    "task cannot tell; the mean leaves it out."
)
_NMSE_NOTE = "NMSE: squared error / variance of the targets. † above 1: worse than always predicting that task's mean."


@dataclass(frozen=True)
class Cell:
    """A text, the value by which its column sorts, and a class for its look."""

    text: str
    value: float | str
    look: str = ""


@dataclass(frozen=True)
class Sheet:
    """A sortable table with a note below it; ``name`` is unique on the page."""

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


def number_cell(value: float, digits: int = 3) -> Cell:
    if not math.isfinite(value):
        return Cell("–", math.inf, "number")
    return Cell(f"{value:.{digits}f}", value, "number")


def text_cell(value: object, look: str = "") -> Cell:
    return Cell(str(value), str(value), look)


def interval_cell(score: Interval, look: str = "") -> Cell:
    """``value (low to high)``, sorted by the value."""
    ends = f" ({score.low:.3f}{TO}{score.high:.3f})" if math.isfinite(score.low) else ""
    return Cell(f"{score.value:.3f}{ends}", score.value, f"number {look}".strip())


def full_name(name: str) -> str:
    """A method's or reference row's name for people."""
    return METHODS[name].name if name in METHODS else name.replace("per_task", "per-task").replace("_", " ")


def score_sheet(evidence: Evidence) -> Sheet:
    """One row per task, one for all rows and one for the mean over tasks: every score."""
    groups = [(evidence.tasks[t], evidence.rows(t)) for t in evidence.present]
    groups.append(("all rows", np.arange(len(evidence.y))))
    main = evidence.measure.lower()
    scores = [evidence.scores(rows) for _, rows in groups]
    further = [name for name in scores[0] if name != main]
    rows = [
        (
            text_cell(name),
            Cell(str(len(group)), len(group), "number"),
            interval_cell(evidence.score(group)),
            *(_further(column, of_group.get(column, math.nan)) for column in further),
        )
        for (name, group), of_group in zip(groups, scores, strict=True)
    ]
    mean = evidence.mean_scores()
    averaged = [_further(column, mean[column]) for column in further]
    rows.append((text_cell("mean of tasks"), Cell("–", math.inf, "number"), number_cell(mean[main]), *averaged))
    is_class = evidence.p is not None
    names = _NAMES if is_class else {**_NAMES, "nll": "negative log-likelihood"}
    columns = ("task", "rows", f"{evidence.measure} (95 % interval)", *(names.get(c, c) for c in further))
    caption = f"{evidence.measure} and further scores of every task"
    return Sheet("scores", caption, columns, tuple(rows), _ECE_NOTE if is_class else _NMSE_NOTE)


def _further(column: str, value: float) -> Cell:
    cell = number_cell(value)
    return Cell(f"{cell.text} †", value, "number hurt") if column == "nmse" and 1 < value < math.inf else cell


def method_sheet(name_of_model: str, evidence: Evidence, others: Mapping[str, Evidence]) -> Sheet:
    """Methods by tasks, or turned where tasks are many: the main score, the best of each task marked."""
    methods = {f"{name_of_model} (this model)": evidence, **{full_name(n): e for n, e in others.items()}}
    tasks, is_class = evidence.present, evidence.p is not None
    methods = dict(sorted(methods.items(), key=lambda item: item[1].mean_score(), reverse=is_class))
    values = {name: [e.score(e.rows(t)) for t in tasks] for name, e in methods.items()}
    pick = max if is_class else min
    best = [pick(scores[k].value for scores in values.values()) for k in range(len(tasks))]
    grid = []
    for name, scores in values.items():
        mean = number_cell(methods[name].mean_score())
        grid.append((mean, *(interval_cell(s, "best" if s.value == best[k] else "") for k, s in enumerate(scores))))
    heads = ("mean over tasks", *(evidence.tasks[t] for t in tasks))
    caption = f"{evidence.measure} of every method and task, best mean first"
    remark = "Blue and bold: the best method of a task."
    if len(tasks) > MOST_TASK_COLUMNS:
        rows = tuple((text_cell(head), *cells) for head, cells in zip(heads, zip(*grid, strict=True), strict=True))
        return Sheet("methods", caption, ("task", *values), rows, remark)
    rows = tuple((text_cell(name), *cells) for name, cells in zip(values, grid, strict=True))
    return Sheet("methods", caption, ("method", *heads), rows, remark)


def gain_sheet(of_tasks: Sequence[Gain], evidence: Evidence, alone: Evidence) -> Sheet:
    """Every task alone and with the others."""
    rows = []
    for t, gain in zip(evidence.present, of_tasks, strict=True):
        task_rows = evidence.rows(t)
        share = Interval(100 * gain.gain.value, 100 * gain.gain.low, 100 * gain.gain.high)
        ends = f" ({share.low:+.1f}{TO}{share.high:+.1f})" if math.isfinite(share.low) else ""
        rows.append(
            (
                text_cell(gain.task),
                number_cell(alone.score(task_rows).value),
                number_cell(evidence.score(task_rows).value),
                Cell(f"{share.value:+.1f}{ends}", share.value, "number"),
                text_cell(gain.verdict, gain.verdict.replace(" ", "-")),
            )
        )
    unit = "gain in points" if evidence.p is not None else "squared error removed, %"
    columns = ("task", f"{evidence.measure} alone", f"{evidence.measure} together", f"{unit} (95 %)", "verdict")
    return Sheet("gains", "What every task gains from the others", columns, tuple(rows))


def arrow_sheet(finding: Finding, strengths: Mapping[str, str], control: Control | None) -> Sheet:
    """The strongest arrows with their intervals and the learner's strength, each against the noise of the control."""
    rows = []
    for arrow in finding.arrows[:MOST_ARROWS]:
        row = [text_cell(arrow.learner), text_cell(arrow.teacher), Cell(arrow.share(), arrow.weight, "number")]
        if arrow.interval is not None:
            row.append(_verdict(arrow, finding))
        row.append(Cell(strengths[arrow.learner], strengths[arrow.learner], "number"))
        if control is not None:
            above = arrow.weight > control.noise
            row.append(text_cell("yes" if above else "no", "helped" if above else ""))
        rows.append(tuple(row))
    has_ends = finding.arrows[0].interval is not None
    columns = (
        "task",
        "learns from",
        "weight [90 % interval]" if has_ends else "weight",
        *(("against even",) if has_ends else ()),
        "strength r of the task",
        *(("above chance",) if control is not None else ()),
    )
    note = "Above chance: larger than every weight of the control. The weight itself may still be uncertain."
    remark = note if control is not None else ""
    return Sheet("arrows", "Who learns from whom, strongest first", columns, tuple(rows), remark)


def crowd_sheet(crowd: Crowd, strengths: Mapping[str, str]) -> Sheet:
    """Some of many tasks, the strongest teacher of each, and their strengths."""
    rows = tuple(
        (
            text_cell(arrow.learner),
            text_cell(arrow.teacher),
            Cell(f"{arrow.weight:.4f}", arrow.weight, "number"),
            Cell(strengths[arrow.learner], strengths[arrow.learner], "number"),
        )
        for arrow in crowd.arrows
    )
    columns = ("task", "learns most from", "weight", "strength r of the task")
    note = f"An even weight is {even_weight(crowd.n_tasks):.4f}."
    return Sheet("arrows", "Who learns from whom, some of the tasks", columns, rows, note)


def _verdict(arrow: Arrow, finding: Finding) -> Cell:
    if arrow in finding.preferred:
        return text_cell("clearly more", "helped")
    if arrow in finding.avoided:
        return text_cell("clearly less", "hurt")
    return text_cell("leans to more" if arrow in finding.leaning else "open")


def worth_sheet(worth: Mapping[str, float]) -> Sheet:
    """What left-out training rows cost under the inferred structure and under others."""
    names = {
        "inferred": "with the inferred structure",
        "even": "every task learns alike from all others",
        "alone": "every task alone",
        "pooled": "all rows pooled",
    }
    first = worth["inferred"]
    rows = tuple(
        (text_cell(names[name]), number_cell(loss), Cell(f"{loss - first:+.3f}", loss - first, "number"))
        for name, loss in worth.items()
    )
    columns = ("structure", "nats per left-out row", "worse than inferred by")
    note = "Each training row is predicted by the exact model without it; less is better. At most 320 rows are used."
    return Sheet("worth", "What the structure is worth", columns, rows, note)


def decision_sheet(rules: Mapping[str, Decision], name: str) -> Sheet:
    """What announcing an event by several rules does to the labelled rows."""
    rows = tuple(
        (
            text_cell(rule),
            number_cell(d.threshold, 2),
            *(number_cell(share) for share in (d.announced, d.sensitivity, d.specificity, d.precision)),
            *(Cell(str(count), count, "number") for count in (d.missed, d.false_alarms)),
            number_cell(d.cost, 1),
        )
        for rule, d in rules.items()
    )
    columns = (
        "rule",
        "from",
        "announced",
        "sensitivity",
        "specificity",
        "precision",
        "missed",
        "false alarms",
        "cost",
    )
    note = (
        f"Sensitivity: the share of rows with {name!r} that are announced. Specificity: the share of the others that "
        "are not. Precision: the share of announcements that are right. Cost: per 100 rows."
    )
    return Sheet("decisions", "What the threshold does, beside other rules", columns, rows, note)


def importance_sheet(importance: Importance) -> Sheet:
    """What every column is worth: overall, and task by task where tasks are few, else where it matters most."""
    few = len(importance.tasks) <= MOST_TASK_COLUMNS
    rows = []
    for column, overall, of_tasks in zip(importance.columns, importance.overall, importance.of_tasks, strict=True):
        cells = [text_cell(column), interval_cell(overall)]
        if len(importance.tasks) > 1 and few:
            cells += [interval_cell(of_task) for of_task in of_tasks]
        elif not few:
            most = max(range(len(of_tasks)), key=lambda t: of_tasks[t].value)
            cells += [text_cell(importance.tasks[most]), interval_cell(of_tasks[most])]
        rows.append(tuple(cells))
    tasks = importance.tasks if few and len(importance.tasks) > 1 else () if few else ("matters most to", "there")
    columns = ("column", f"{importance.unit} (95 % interval)", *tasks)
    return Sheet("importance", "What every column is worth, the most important first", columns, tuple(rows))


def fact_sheet(name: str, caption: str, facts: Mapping[str, object]) -> Sheet:
    """Names and values."""
    rows = tuple((text_cell(key), text_cell(value)) for key, value in facts.items())
    return Sheet(name, caption, ("name", "value"), rows)
