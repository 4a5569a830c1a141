"""The main layout: one table per data set, split and fraction; a row per method, the paper's numbers beside ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.paper.results.headers import header_lines, missing_note
from benchmarks.paper.results.statistics import Paired, negative_transfer, paired, sampling_half_width
from benchmarks.paper.results.table_rows import LOWER_IS_BETTER, RowKey, TableRow, best_row, find_paper, settings_of
from benchmarks.paper.run.job import DEFAULT
from benchmarks.paper.run.suite import PaperRow, Suite
from benchmarks.text_table import PERCENT, Table, number, signed, with_interval

#: Tasks that get a column of their own; with more, only the average is shown.
MOST_TASK_COLUMNS = 10
#: What other rows are compared with: the first of these that a table has, by the name that a column gives it.
OURS = {DEFAULT: "the default", "vmtl": "VMTL"}
Papers = Mapping[RowKey, PaperRow]


@dataclass(frozen=True)
class Column:
    """A heading and what stands below it in every row."""

    heading: str
    cell: Callable[[TableRow], str]


def method_tables(suite: Suite, rows: Sequence[TableRow]) -> list[Table]:
    """Two tables per setting: all methods, and what ours gains per task over the best reference row."""
    tables = []
    for setting in settings_of(rows):
        of_setting = [row for row in rows if row.key.setting == setting]
        tables.append(_method_table(suite, of_setting))
        if (gains := _gain_table(suite.metric, of_setting)) is not None:
            tables.append(gains)
    return tables


def _method_table(suite: Suite, rows: list[TableRow]) -> Table:
    """A row per method that has runs; what was chosen on test labels is a column of its own, never a row."""
    metric, first = suite.metric, rows[0].key
    honest = [row for row in rows if row.key.selection != "oracle" and row.runs]
    papers = {row.key: paper for row in honest if (paper := find_paper(suite, row.key, metric)) is not None}
    remarks = list(dict.fromkeys(text for paper in papers.values() for text in paper.notes))
    ours = _ours(honest)
    columns = [
        *_name_columns(papers, remarks),
        *_task_columns(metric, honest, papers),
        *_mean_columns(metric, papers),
        *_gain_columns(metric, ours),
        *_further_columns(metric),
        *_oracle_columns(metric, rows),
    ]
    footnotes = (
        *(f"[{number}] The paper: {text}" for number, text in enumerate(remarks, start=1)),
        *suite.notes,
        *_sampling_note(metric, ours),
        *_transfer_notes(metric, honest),
        *missing_note(rows),
    )
    title = f"{suite.title}: {first.data}, {first.fraction:g} %, {_split_words(first)}"
    body = tuple(tuple(column.cell(row) for column in columns) for row in honest)
    return Table(title, tuple(column.heading for column in columns), body, header_lines(suite, rows), footnotes)


def _name_columns(papers: Papers, remarks: Sequence[str]) -> list[Column]:
    """The method, with marks of the footnotes on what the paper prints for it, and its preset."""

    def name(row: TableRow) -> str:
        notes = papers[row.key].notes if row.key in papers else ()
        return row.key.label + "".join(f" [{remarks.index(text) + 1}]" for text in notes)

    return [Column("method", name), Column("preset", lambda row: row.key.preset)]


def _task_columns(metric: str, rows: Sequence[TableRow], papers: Papers) -> list[Column]:
    """The score of every task, where they are few, and the paper's beside it."""
    tasks = max((row.tasks for row in rows), key=len, default=[])
    if len(tasks) > MOST_TASK_COLUMNS:
        return []

    def column(task: str) -> Column:
        def cell(row: TableRow) -> str:
            score, paper = number(row.interval(metric, task).value, metric), papers.get(row.key)
            return f"{score} ({paper.mean[task]:g})" if paper is not None and task in paper.mean else score

        return Column(f"{task} (paper)" if papers else task, cell)

    return [column(task) for task in tasks]


def _mean_columns(metric: str, papers: Papers) -> list[Column]:
    """The mean over tasks; where the paper has numbers, its mean and ours minus it (the paper prints percent)."""
    ours = Column(f"{metric}, mean", lambda row: with_interval(row.interval(metric), metric))
    if not papers:
        return [ours]

    def printed(row: TableRow) -> str:
        paper = papers.get(row.key)
        if paper is None or "average" not in paper.mean:
            return "–"
        half = paper.ci95.get("average")
        return f"{paper.mean['average']:g}" + (f" ± {half:g}" if half is not None else "")

    def difference(row: TableRow) -> str:
        paper = papers.get(row.key)
        if paper is None or "average" not in paper.mean or not row.values(metric):
            return "–"
        unit = 100 if metric in PERCENT else 1
        return signed(row.interval(metric).value - paper.mean["average"] / unit, metric)

    return [ours, Column("paper", printed), Column("difference", difference)]


def _gain_columns(metric: str, ours: TableRow | None) -> list[Column]:
    """What ours gains over the row on the same seeds."""

    def gain(row: TableRow) -> str:
        pair = compare_with_ours(metric, ours, row)
        if pair is None:
            return "–"
        shown = signed(pair.difference.value, metric)
        if math.isnan(pair.difference.half):
            return shown
        return f"{shown} [{signed(pair.difference.low, metric)}, {signed(pair.difference.high, metric)}]"

    def outcomes(row: TableRow) -> str:
        pair = compare_with_ours(metric, ours, row)
        return "–" if pair is None else f"{pair.wins} / {pair.ties} / {pair.losses}"

    return [Column(f"gain of {name_of_ours(ours)}, paired", gain), Column("won / tied / lost", outcomes)]


def _further_columns(metric: str) -> list[Column]:
    """Calibration and what a fit costs."""

    def column(name: str) -> Column:
        return Column(name, lambda row: number(row.interval(name).value, name))

    names = ("nll", "ece") if metric == "accuracy" else ("nll",)
    return [*map(column, names), Column("fit, s", lambda row: number(row.cost("fit_seconds"), "seconds"))]


def _oracle_columns(metric: str, rows: Sequence[TableRow]) -> list[Column]:
    """What a choice on test labels would have given, if that was run."""
    oracles = {replace(row.key, selection="last"): row for row in rows if row.key.selection == "oracle"}

    def cell(row: TableRow) -> str:
        oracle = oracles.get(replace(row.key, selection="last"))
        return with_interval(oracle.interval(metric), metric) if oracle is not None else "–"

    return [Column("oracle: chosen on test labels", cell)] if oracles else []


def _split_words(key: RowKey) -> str:
    return "the paper's split" if key.split == "paper" else "random splits"


def _ours(rows: Sequence[TableRow]) -> TableRow | None:
    """The row of the default without a variant, or of VMTL where the default has no runs."""
    own = [r for method in OURS for r in rows if r.key.method == method and not r.key.variant and r.runs]
    return own[0] if own else None


def name_of_ours(ours: TableRow | None) -> str:
    return OURS[DEFAULT if ours is None else ours.key.method]


def compare_with_ours(metric: str, ours: TableRow | None, other: TableRow) -> Paired | None:
    """Ours against a row on the same seeds; positive is better for ours; None for itself."""
    if ours is None or other is ours:
        return None
    return paired(ours.values(metric), other.values(metric), metric not in LOWER_IS_BETTER)


def _sampling_note(metric: str, row: TableRow | None) -> list[str]:
    """The interval that the finite test set alone gives the mean of ours."""
    if metric != "accuracy" or row is None:
        return []
    widths = []
    for run in row.runs.values():
        tasks = [scores for scores in run["tasks"].values() if scores.get("accuracy") is not None]
        if tasks:
            widths.append(sampling_half_width([t["accuracy"] for t in tasks], [t["n_test"] for t in tasks]))
    if not widths:
        return []
    half = 100 * float(np.mean(widths))
    return [f"The finite test set alone gives the mean of {name_of_ours(row)} a 95 % interval of ± {half:.1f} points."]


def _references(rows: Sequence[TableRow]) -> list[TableRow]:
    """Reference rows on raw features with C by cross-validation."""
    return [row for row in rows if row.key.is_reference and row.key.variant == "C by CV" and row.runs]


def task_gains(metric: str, row: TableRow, other: TableRow) -> dict[str, list[float]]:
    """Per task, ours minus theirs on every common run, positive is better for ``row``."""
    sign = -1 if metric in LOWER_IS_BETTER else 1
    gains = {}
    for task in row.tasks:
        a, b = row.values(metric, task), other.values(metric, task)
        if common := [key for key in a if key in b]:
            gains[task] = [sign * (a[key] - b[key]) for key in common]
    return gains


def _by_test_rows(metric: str, row: TableRow) -> bool:
    """Whether all runs share one split, so that only its test rows can tell what is chance."""
    return row.key.split == "paper" and metric == "accuracy"


def hurt_tasks(metric: str, row: TableRow, alone: TableRow) -> dict[str, float]:
    """Tasks with negative transfer: name to p-value, its least possible value on the paper's split."""
    n_test = None
    if _by_test_rows(metric, row):
        n_test = {name: scores["n_test"] for run in row.runs.values() for name, scores in run["tasks"].items()}
    return negative_transfer(task_gains(metric, row, alone), n_test)


def _transfer_notes(metric: str, rows: Sequence[TableRow]) -> list[str]:
    """A warning for every method under which some task is worse off than alone."""
    alone = next((row for row in _references(rows) if row.key.method == "per_task_linear"), None)
    if alone is None:
        return []
    notes = []
    for row in rows:
        if row.key.is_reference or not row.runs:
            continue
        if hurt := hurt_tasks(metric, row, alone):
            sign = "≥" if _by_test_rows(metric, row) else "="
            tasks = ", ".join(f"{task} (p {sign} {p:.2g})" for task, p in hurt.items())
            label = row.key.label_and_preset
            notes.append(f"Negative transfer under {label}: worse than alone on {tasks}, Holm-corrected.")
    return notes


def _gain_table(metric: str, rows: Sequence[TableRow]) -> Table | None:
    """What ours gains per task over the best reference row by mean."""
    ours, reference = _ours(rows), best_row(_references(rows), metric)
    if ours is None or reference is None:
        return None
    gains = task_gains(metric, ours, reference)
    if not gains or len(gains) > MOST_TASK_COLUMNS:
        return None
    cells = tuple(signed(float(np.mean(values)), metric) for values in gains.values())
    title = f"{ours.key.label_and_preset} minus the best reference row, {reference.key.label}, per task"
    return Table(title, tuple(gains), (cells,))
