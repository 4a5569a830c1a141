"""From a suite and its records to tables: one function per layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from benchmarks.paper.results.headers import header_lines, missing_note
from benchmarks.paper.results.main_table import method_tables
from benchmarks.paper.results.table_rows import TableRow, collect_rows, find_paper
from benchmarks.paper.run.records import Record
from benchmarks.paper.run.suite import Suite
from benchmarks.text_table import Table, number, with_interval
from vmtl._utils.json_values import Document
from vmtl.data.subsampling import evenly_spaced
from vmtl.evaluation.intervals import of_mean

#: Rows of a loss table.
HISTORY_ROWS = 12


def suite_tables(suite: Suite, records: Mapping[str, Record]) -> list[Table]:
    """The suite's tables; a pure function of its records."""
    return LAYOUTS[suite.layout](suite, collect_rows(suite, records))


def _by_data(rows: Sequence[TableRow]) -> list[list[TableRow]]:
    names = dict.fromkeys((row.key.data, row.key.split) for row in rows)
    return [[row for row in rows if (row.key.data, row.key.split) == name] for name in names]


def _wide_tables(suite: Suite, rows: Sequence[TableRow]) -> list[Table]:
    """One table per data set: methods and variants down, fractions across; ours, then the paper's."""
    tables = []
    for of_data in _by_data(rows):
        fractions = sorted({row.key.fraction for row in of_data})
        lines: dict[tuple[str, str], dict[float, str]] = {}
        notes: dict[str, None] = {}
        for row in of_data:
            if not row.runs:
                continue
            cell = with_interval(row.interval(suite.metric), suite.metric)
            paper = find_paper(suite, row.key, suite.metric)
            if paper is not None and "average" in paper.mean:
                cell += f" (paper {paper.mean['average']:g})"
                notes.update({f"The paper: {note}": None for note in paper.notes})
            lines.setdefault((row.key.label, row.key.preset), {})[row.key.fraction] = cell
        body = [(*name, *(cells.get(f, "–") for f in fractions)) for name, cells in lines.items()]
        columns = ("method", "preset", *(f"{suite.metric} at {f:g} %" for f in fractions))
        title = f"{suite.title}: {of_data[0].key.data}"
        footnotes = (*notes, *suite.notes, *missing_note(of_data))
        tables.append(Table(title, columns, tuple(body), header_lines(suite, of_data), footnotes))
    return tables


def _runtime_tables(suite: Suite, rows: Sequence[TableRow]) -> list[Table]:
    """Seconds per training step and per 1,000 test rows, ours on one thread beside the paper's."""
    body = []
    for row in (row for row in rows if row.runs):
        cells = [row.key.label, row.key.preset]
        for cost, metric in (
            ("seconds_per_step", "seconds_per_iteration"),
            ("seconds_per_1000_rows", "seconds_per_1000_test"),
        ):
            paper = find_paper(suite, row.key, metric)
            cells += [number(row.cost(cost), "seconds"), f"{paper.mean['average']:g}" if paper else "–"]
        body.append((*cells, number(row.cost("peak_mb"), "mb")))
    columns = (
        "method", "preset", "s per step", "paper (V100)", "s per 1,000 test rows", "paper (V100)", "peak memory, MiB",
    )  # fmt: skip
    notes = (*suite.notes, *missing_note(rows))
    return [Table(suite.title, columns, tuple(body), header_lines(suite, rows), notes)]


def _history_tables(suite: Suite, rows: Sequence[TableRow]) -> list[Table]:
    """Loss on the training batches, and KL_w in nats, against the step; means over seeds."""
    tables = []
    for of_data in _by_data(rows):
        all_curves = {f"{row.key.label} {row.key.fraction:g} %": row.extras("history") for row in of_data}
        curves = {name: histories for name, histories in all_curves.items() if histories}
        steps = next(iter(curves.values()))[0]["step"] if curves else []
        body = [
            (
                str(steps[i]),
                *(
                    _mean_number([h[term][i] for h in histories])
                    for histories in curves.values()
                    for term in ("loss", "kl_w")
                ),
            )
            for i in evenly_spaced(len(steps), HISTORY_ROWS)
        ]
        title = f"{suite.title}: {of_data[0].key.data}"
        columns = ("step", *(f"{name}, {term}" for name in curves for term in ("loss", "KL_w")))
        tables.append(Table(title, columns, tuple(body), header_lines(suite, of_data), tuple(missing_note(of_data))))
    return tables


def _mean_number(values: Sequence[float]) -> str:
    return number(float(np.mean(values)), "nll")


def _mixing_tables(suite: Suite, rows: Sequence[TableRow]) -> list[Table]:
    """alpha and beta: row t says how much task t takes from every other task, mean over seeds."""
    tables = []
    for row in rows:
        mixings = row.extras("mixing")
        for name in ("alpha", "beta"):
            if not mixings or name not in mixings[0]:
                continue
            mean = np.mean([mixing[name] for mixing in mixings], axis=0)
            tasks = mixings[0]["tasks"]
            body = [(str(task), *(f"{value:.3f}" for value in line)) for task, line in zip(tasks, mean, strict=True)]
            title = f"{suite.title}: {name} of {row.key.label_and_preset}, {row.key.data} {row.key.fraction:g} %"
            tables.append(Table(title, ("task", *map(str, tasks)), tuple(body), header_lines(suite, [row])))
    return tables or [Table(suite.title, ("task",), (), header_lines(suite, rows), tuple(missing_note(rows)))]


def _attack_tables(suite: Suite, rows: Sequence[TableRow]) -> list[Table]:
    """Accuracy against the noise level, one table per task and one for their mean."""
    curves = {row: attacks for row in rows if (attacks := row.extras("attack"))}
    if not curves:
        return [Table(suite.title, ("noise level",), (), header_lines(suite, rows), tuple(missing_note(rows)))]
    first = next(iter(curves.values()))[0]
    tables = []
    for task in ("average", *first["accuracy"]):
        body = []
        for i, level in enumerate(first["levels"]):
            cells = [
                with_interval(of_mean([_accuracy(attack, task, i) for attack in attacks]), "accuracy")
                for attacks in curves.values()
            ]
            body.append((f"{level:g}", *cells))
        columns = ("noise level", *(row.key.label_and_preset for row in curves))
        header, notes = (header_lines(suite, rows), missing_note(rows)) if task == "average" else ((), [])
        tables.append(Table(f"{suite.title}: {task}", columns, tuple(body), header, tuple(notes)))
    return tables


def _accuracy(attack: Document, task: str, level: int) -> float:
    """Of one run at one noise level: of a task, or averaged over tasks."""
    if task == "average":
        return float(np.mean([curve[level] for curve in attack["accuracy"].values()]))
    return float(attack["accuracy"][task][level])


LAYOUTS: dict[str, Callable[[Suite, Sequence[TableRow]], list[Table]]] = {
    "methods": method_tables,
    "variants": _wide_tables,
    "runtime": _runtime_tables,
    "history": _history_tables,
    "mixing": _mixing_tables,
    "attack": _attack_tables,
}
