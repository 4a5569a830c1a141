"""The main layout: one table per data set, split and fraction; a row per method, the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vmtl.bench.results.headers import header_lines, missing_note
from vmtl.bench.results.rows import LOWER_IS_BETTER, Key, Row, best, find_paper, settings_of
from vmtl.bench.results.statistics import Paired, negative_transfer, paired, sampling_half_width
from vmtl.bench.results.tables import PERCENT, Table, number, signed, with_interval
from vmtl.bench.run.suite import PaperRow, Suite

#: Tasks that get a column of their own; with more, only the average is shown.
MOST_TASK_COLUMNS = 10
OURS = "vmtl"


def method_tables(suite: Suite, rows: Sequence[Row]) -> list[Table]:
    """Two tables per setting: all methods, and what VMTL gains per task over the best reference row."""
    tables = []
    for setting in settings_of(rows):
        own = [row for row in rows if (row.key.data, row.key.split, row.key.fraction) == setting]
        tables.append(_table(suite, own))
        if (gains := _gain_table(suite.metric, own)) is not None:
            tables.append(gains)
    return tables


def _table(suite: Suite, rows: list[Row]) -> Table:
    metric, first = suite.metric, rows[0].key
    honest = [row for row in rows if row.key.selection != "oracle"]
    oracles = {replace(row.key, selection="last"): row for row in rows if row.key.selection == "oracle"}
    tasks = max((row.tasks for row in honest), key=len, default=[])
    tasks = tasks if len(tasks) <= MOST_TASK_COLUMNS else []
    papers = {row.key: find_paper(suite, row.key, metric) for row in honest}
    has_paper = any(papers.values())
    rival = _ours(honest)
    more = ("nll", "ece") if metric == "accuracy" else ("nll",)
    notes: list[str] = []
    columns = ["method", "preset", *(f"{task} (paper)" if has_paper else task for task in tasks), f"{metric}, mean"]
    columns += ["paper", "difference"] if has_paper else []
    columns += ["VMTL's gain, paired", "won / tied / lost", *more, "fit, s"]
    columns += ["oracle: chosen on test labels"] if oracles else []
    body = []
    for row in honest:
        paper = papers[row.key]
        cells = [row.key.label + _marks(paper, notes), row.key.preset]
        cells += [_task_cell(row, metric, task, paper) for task in tasks]
        cells.append(with_interval(row.interval(metric), metric))
        cells += _paper_cells(row, metric, paper) if has_paper else []
        cells += _paired_cells(metric, rival, row)
        cells += [number(row.interval(name).mean, name) for name in more]
        cells.append(number(row.cost("fit_seconds"), "seconds"))
        if oracles:
            chosen = oracles.get(replace(row.key, selection="last"))
            cells.append(with_interval(chosen.interval(metric), metric) if chosen else "–")
        body.append(tuple(cells))
    footnotes = (
        *notes,
        *suite.notes,
        *_sampling_note(metric, rival),
        *_transfer_notes(metric, honest),
        *missing_note(rows),
    )
    title = f"{suite.title}: {first.data}, {first.fraction:g} %, {_split_words(first)}"
    return Table(title, tuple(columns), tuple(body), header_lines(suite, rows), footnotes)


def _split_words(key: Key) -> str:
    return "the paper's split" if key.split == "paper" else "random splits"


def _ours(rows: Sequence[Row]) -> Row | None:
    """The first row of VMTL without a variant that has runs."""
    return next((r for r in rows if r.key.method == OURS and not r.key.variant and r.runs), None)


def _marks(paper: PaperRow | None, notes: list[str]) -> str:
    """Footnote marks for the paper's own inconsistencies in this row; new notes are added to ``notes``."""
    marks = []
    for text in paper.notes if paper is not None else ():
        note = f"[{len(notes) + 1}] The paper: {text}"
        known = [old for old in notes if old.endswith(text)]
        if not known:
            notes.append(note)
        marks.append((known or [note])[0].split()[0])
    return "".join(f" {mark}" for mark in marks)


def _task_cell(row: Row, metric: str, task: str, paper: PaperRow | None) -> str:
    ours = number(row.interval(metric, task).mean, metric)
    return f"{ours} ({paper.mean[task]:g})" if paper is not None and task in paper.mean else ours


def _paper_cells(row: Row, metric: str, paper: PaperRow | None) -> list[str]:
    """The paper's average with its interval, and ours minus it (the paper prints percent)."""
    if paper is None or "average" not in paper.mean:
        return ["–", "–"]
    mean, ci95 = paper.mean["average"], paper.ci95.get("average")
    shown = f"{mean:g}" if ci95 is None else f"{mean:g} ± {ci95:g}"
    if not row.values(metric):
        return [shown, "–"]
    unit = 100 if metric in PERCENT else 1
    return [shown, signed(row.interval(metric).mean - mean / unit, metric)]


def _paired_cells(metric: str, rival: Row | None, row: Row) -> list[str]:
    found = compare(metric, rival, row)
    if found is None:
        return ["–", "–"]
    gain = found.difference
    shown = signed(gain.mean, metric)
    if gain.half is not None:
        shown += f" [{signed(gain.low, metric)}, {signed(gain.high, metric)}]"
    return [shown, f"{found.wins} / {found.ties} / {found.losses}"]


def compare(metric: str, ours: Row | None, other: Row) -> Paired | None:
    """VMTL against a row on the same seeds; positive is better for VMTL; None for itself."""
    if ours is None or other is ours:
        return None
    return paired(ours.values(metric), other.values(metric), metric not in LOWER_IS_BETTER)


def _sampling_note(metric: str, row: Row | None) -> list[str]:
    """The interval that the finite test set alone gives VMTL's mean."""
    if metric != "accuracy" or row is None:
        return []
    widths = []
    for run in row.runs.values():
        tasks = [scores for scores in run["tasks"].values() if scores.get("accuracy") is not None]
        if tasks:
            widths.append(sampling_half_width([t["accuracy"] for t in tasks], [t["n_test"] for t in tasks]))
    if not widths:
        return []
    return [
        f"The finite test set alone gives VMTL's mean a 95 % interval of ± {100 * float(np.mean(widths)):.1f} points."
    ]


def _references(rows: Sequence[Row]) -> list[Row]:
    """Reference rows on raw features with C by cross-validation."""
    return [row for row in rows if row.key.is_reference and row.key.variant == "C by CV" and row.runs]


def task_gains(metric: str, row: Row, other: Row) -> dict[str, list[float]]:
    """Per task, ours minus theirs on every common run, positive is better for ``row``."""
    sign = -1 if metric in LOWER_IS_BETTER else 1
    gains = {}
    for task in row.tasks:
        a, b = row.values(metric, task), other.values(metric, task)
        if common := [key for key in a if key in b]:
            gains[task] = [sign * (a[key] - b[key]) for key in common]
    return gains


def _by_test_rows(metric: str, row: Row) -> bool:
    """Whether all runs share one split, so that only its test rows can tell what is chance."""
    return row.key.split == "paper" and metric == "accuracy"


def hurt_tasks(metric: str, row: Row, alone: Row) -> dict[str, float]:
    """Tasks with negative transfer: name to p-value, its least possible value on the paper's split."""
    n_test = None
    if _by_test_rows(metric, row):
        n_test = {name: scores["n_test"] for run in row.runs.values() for name, scores in run["tasks"].items()}
    return negative_transfer(task_gains(metric, row, alone), n_test)


def _transfer_notes(metric: str, rows: Sequence[Row]) -> list[str]:
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
            listed = ", ".join(f"{task} (p {sign} {p:.2g})" for task, p in hurt.items())
            preset = f" [{row.key.preset}]"
            notes.append(
                f"Negative transfer under {row.key.label}{preset}: worse than alone on {listed}, Holm-corrected."
            )
    return notes


def _gain_table(metric: str, rows: Sequence[Row]) -> Table | None:
    """VMTL's gain per task over the best reference row by mean."""
    ours, reference = _ours(rows), best(_references(rows), metric)
    if ours is None or reference is None:
        return None
    gains = task_gains(metric, ours, reference)
    if not gains or len(gains) > MOST_TASK_COLUMNS:
        return None
    cells = tuple(signed(float(np.mean(values)), metric) for values in gains.values())
    title = f"VMTL [{ours.key.preset}] minus the best reference row, {reference.key.label}, per task"
    return Table(title, tuple(gains), (cells,))
