"""``vmtl check``: a table before a fit, or new rows beside a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vmtl.cli._support.console import note, say, show_json, show_table
from vmtl.cli._support.options import Debug, Drop, Encoding, Json, Kind, Sheet, TargetColumn, TaskColumn, Types
from vmtl.cli._support.reading import Reading

if TYPE_CHECKING:
    from vmtl.data.column_profiles import ColumnProfile, MovedMean

FIRST = "The table to be fitted; or a model file, followed by the new rows."
#: Columns, and moved means of tasks, that have a line of their own.
MOST_LINES = 40
VERDICTS = {"far": "large shift", "shifted": "shift", "missing": "missing", "unreadable": "unreadable"}


def check(
    first: Annotated[Path, typer.Argument(metavar="TABLE | MODEL", help=FIRST)],
    rows: Annotated[Path | None, typer.Argument(metavar="[NEW ROWS]", help="Rows to compare with training.")] = None,
    task: TaskColumn = None,
    target: TargetColumn = None,
    kind: Kind = "auto",
    drop: Drop = None,
    types: Types = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Look at a table before a fit, or at new rows before a prediction; nothing is fitted.

    `vmtl check train.csv --task site --target outcome` says what every column is taken for, which classes occur once,
    which tasks have few rows, and which values look wrong.

    `vmtl check model.vmtl new.csv` says which columns and tasks have drifted away from the rows the model was
    fitted to.
    """
    if rows is None:
        check_table(first, Reading.of_options(task, target, kind, drop, types, encoding, sheet), json)
        return
    if target or drop or types or kind != "auto":
        raise ValueError("The model knows its target and its columns; leave out --target, --kind, --drop and --type.")
    check_new_rows(first, rows, task, encoding, sheet, json)


def check_table(table: Path, reading: Reading, json: bool) -> None:
    """What a table holds, as a fit would take it."""
    from vmtl.cli._support.advice import warnings_about, what_was_read
    from vmtl.cli._support.column_report import about_classes, about_tasks, column_lines

    if not table.exists():
        raise FileNotFoundError(f"There is no file {table}; check the path.")
    problem = reading.problem(table)
    warnings = list(warnings_about(problem, reading.target_column, visible=not json))
    columns, tasks, classes = column_lines(problem), about_tasks(problem), about_classes(problem)
    read = what_was_read(problem, reading.target_column, forced=reading.kind != "auto")
    if json:
        show_json({"read": read, "columns": columns, "tasks": tasks, "classes": classes, "warnings": warnings})
        return
    say(read)
    lines = [tuple(column.values()) for column in columns[:MOST_LINES]]
    show_table("Columns", ("column", "taken for", "values", "missing"), lines, split=False)
    note(f"{len(columns) - MOST_LINES} more columns; --json prints all.", len(columns) <= MOST_LINES)
    say("\n".join(f"- {sentence}" for sentence in [*tasks, *classes]))
    say("\n".join(f"Warning: {warning}" for warning in warnings) or "Nothing looks wrong.")


def check_new_rows(
    path: Path, table: Path, task: str | None, encoding: str | None, sheet: str | None, json: bool
) -> None:
    """Which columns and tasks of new rows are not as in training."""
    from dataclasses import asdict

    from vmtl.cli._support.drift import compare_columns, moved_tasks, new_tasks, sentence_on_tasks, stored_profile
    from vmtl.cli._support.files import check_model_file
    from vmtl.cli._support.loading import load_model, tasks_of
    from vmtl.datasets.frame_files import read_frame

    model = load_model(check_model_file(path))
    known = stored_profile(model, path)
    frame = read_frame(table, encoding=encoding, sheet=sheet)
    if not len(frame):
        raise ValueError(f"{table} has no rows; give at least one.")
    tasks = tasks_of(table, frame, model, task)
    columns, moved = compare_columns(known, frame), moved_tasks(known, frame, tasks)
    if json:
        document = {"rows": len(frame), "new_tasks": new_tasks(known, tasks), "columns": columns}
        show_json({**document, "moved": [asdict(one) for one in moved]})
        return
    say(f"{table} beside the {sum(known.rows.values())} training rows of {path}: {sentence_on_tasks(known, tasks)}")
    show_columns(columns)
    if moved:
        show_table(
            f"Tasks with another mean than in training ({len(moved)})",
            ("task", "column", "training", "now", "moved by"),
            [moved_line(one, known.columns[one.column]) for one in moved[:MOST_LINES]],
        )
        note(f"{len(moved) - MOST_LINES} more; --json prints all.", len(moved) <= MOST_LINES)
    say(verdict(columns, len(moved)))


def moved_line(one: MovedMean, profile: ColumnProfile) -> tuple[str, ...]:
    """A task and column, the two means, and the way between them in standard deviations."""
    from vmtl.cli._support.drift import rounded

    means = (rounded(one.training, profile), rounded(one.new, profile))
    return (one.task, one.column, *means, f"{one.deviations:+.2f} SD")


def show_columns(columns: list[dict[str, object]]) -> None:
    """The columns that are not as in training, the furthest first."""
    lines = sorted(
        (line for line in columns if line["verdict"] != "alike"), key=lambda line: -float(str(line["shift"] or "inf"))
    )
    if lines:
        cells = [
            (line["column"], line["taken for"], VERDICTS[str(line["verdict"])], line["shift"], line["what"])
            for line in lines
        ]
        heads = ("column", "taken for", "", "index", "what changed")
        show_table(f"Columns that are not as in training ({len(lines)} of {len(columns)})", heads, cells, False)


def verdict(columns: list[dict[str, object]], n_moved: int) -> str:
    """What it comes to."""
    missing = [str(line["column"]) for line in columns if line["verdict"] in ("missing", "unreadable")]
    if missing:
        return f"These rows cannot be predicted before this is repaired: {', '.join(missing)}."
    far, shifted = (sum(line["verdict"] == name for line in columns) for name in ("far", "shifted"))
    if far or n_moved:
        return "The new rows differ from training; score labelled ones with `vmtl evaluate`, and consider a new fit."
    if shifted:
        return "The new rows differ a little from training; keep an eye on the scores of labelled ones."
    return "All columns look as they did in training."
