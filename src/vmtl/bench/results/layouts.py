"""From a suite and its records to tables: one function per layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from vmtl.bench.results.headers import header_lines, missing_note
from vmtl.bench.results.main_table import method_tables
from vmtl.bench.results.rows import Row, collect, find_paper
from vmtl.bench.results.statistics import t_interval
from vmtl.bench.results.tables import Table, number, with_interval
from vmtl.bench.run.records import Record
from vmtl.bench.run.suite import Suite

#: Rows of a loss table.
HISTORY_ROWS = 12


def suite_tables(suite: Suite, records: Mapping[str, Record]) -> list[Table]:
    """The suite's tables; a pure function of its records."""
    return LAYOUTS[suite.layout](suite, collect(suite, records))


def _by_data(rows: Sequence[Row]) -> list[list[Row]]:
    names = dict.fromkeys((row.key.data, row.key.split) for row in rows)
    return [[row for row in rows if (row.key.data, row.key.split) == name] for name in names]


def _wide_tables(suite: Suite, rows: Sequence[Row]) -> list[Table]:
    """One table per data set: methods and variants down, fractions across; ours, then the paper's."""
    tables = []
    for own in _by_data(rows):
        fractions = sorted({row.key.fraction for row in own})
        lines: dict[tuple[str, str], dict[float, str]] = {}
        notes: dict[str, None] = {}
        for row in own:
            cell = with_interval(row.interval(suite.metric), suite.metric)
            paper = find_paper(suite, row.key, suite.metric)
            if paper is not None and "average" in paper.mean:
                cell += f" (paper {paper.mean['average']:g})"
                notes.update({f"The paper: {note}": None for note in paper.notes})
            lines.setdefault((row.key.label, row.key.preset), {})[row.key.fraction] = cell
        body = [(*name, *(cells.get(f, "–") for f in fractions)) for name, cells in lines.items()]
        columns = ("method", "preset", *(f"{suite.metric} at {f:g} %" for f in fractions))
        title = f"{suite.title}: {own[0].key.data}"
        tables.append(
            Table(title, columns, tuple(body), header_lines(suite, own), (*notes, *suite.notes, *missing_note(own)))
        )
    return tables


def _runtime_tables(suite: Suite, rows: Sequence[Row]) -> list[Table]:
    """Seconds per training step and per 1,000 test rows, ours on one thread beside the paper's."""
    body = []
    for row in rows:
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


def _history_tables(suite: Suite, rows: Sequence[Row]) -> list[Table]:
    """Negative log-likelihood on the training batches against the step, mean over seeds."""
    tables = []
    for own in _by_data(rows):
        curves = {
            f"{row.key.label} {row.key.fraction:g} %": [
                run["extras"]["history"] for run in row.runs.values() if run["extras"]
            ]
            for row in own
        }
        curves = {name: found for name, found in curves.items() if found}
        steps = next(iter(curves.values()))[0]["step"] if curves else []
        shown = (
            np.unique(np.linspace(0, max(len(steps) - 1, 0), HISTORY_ROWS).astype(int)) if steps else np.zeros(0, int)
        )
        body = [
            (str(steps[i]), *(number(float(np.mean([c["nll"][i] for c in found])), "nll") for found in curves.values()))
            for i in shown
        ]
        title = f"{suite.title}: {own[0].key.data}"
        columns = ("step", *curves)
        tables.append(Table(title, columns, tuple(body), header_lines(suite, own), tuple(missing_note(own))))
    return tables


def _mixing_tables(suite: Suite, rows: Sequence[Row]) -> list[Table]:
    """alpha and beta: row t says how much task t takes from every other task, mean over seeds."""
    tables = []
    for row in rows:
        found = [run["extras"]["mixing"] for run in row.runs.values() if run["extras"]]
        for name in ("alpha", "beta"):
            if not found or name not in found[0]:
                continue
            mean = np.mean([mixing[name] for mixing in found], axis=0)
            tasks = found[0]["tasks"]
            body = [(str(task), *(f"{value:.3f}" for value in line)) for task, line in zip(tasks, mean, strict=True)]
            title = (
                f"{suite.title}: {name} of {row.key.label} [{row.key.preset}], {row.key.data} {row.key.fraction:g} %"
            )
            tables.append(Table(title, ("task", *map(str, tasks)), tuple(body), header_lines(suite, [row])))
    return tables or [Table(suite.title, ("task",), (), header_lines(suite, rows), tuple(missing_note(rows)))]


def _attack_tables(suite: Suite, rows: Sequence[Row]) -> list[Table]:
    """Accuracy against the noise level, one table per task and one for their mean."""
    curves = {row: [run["extras"]["attack"] for run in row.runs.values() if run["extras"]] for row in rows}
    curves = {row: found for row, found in curves.items() if found}
    if not curves:
        return [Table(suite.title, ("noise level",), (), header_lines(suite, rows), tuple(missing_note(rows)))]
    first = next(iter(curves.values()))[0]
    tables = []
    for task in ("average", *first["accuracy"]):
        body = []
        for i, level in enumerate(first["levels"]):
            cells = [f"{level:g}"]
            for found in curves.values():
                values = [
                    float(np.mean([c[i] for c in run["accuracy"].values()]))
                    if task == "average"
                    else run["accuracy"][task][i]
                    for run in found
                ]
                cells.append(with_interval(t_interval(values), "accuracy"))
            body.append(tuple(cells))
        columns = ("noise level", *(f"{row.key.label} [{row.key.preset}]" for row in curves))
        header = header_lines(suite, rows) if task == "average" else ()
        tables.append(Table(f"{suite.title}: {task}", columns, tuple(body), header, tuple(missing_note(rows))))
    return tables


LAYOUTS: dict[str, Callable[[Suite, Sequence[Row]], list[Table]]] = {
    "methods": method_tables,
    "variants": _wide_tables,
    "runtime": _runtime_tables,
    "history": _history_tables,
    "mixing": _mixing_tables,
    "attack": _attack_tables,
}
