"""``vmtl predict``: a model and new rows -> predictions with their uncertainty."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vmtl.cli._support.console import note, show_json
from vmtl.cli._support.options import (
    Address,
    Debug,
    Encoding,
    Engine,
    Json,
    ModelFile,
    Quiet,
    Sheet,
    UnknownOrSkip,
    Workers,
)
from vmtl.cli._support.prediction_columns import all_columns, beside, of_all_rows, rounded
from vmtl.cli._support.unknown import known_rows, note_unknown

if TYPE_CHECKING:
    import pandas as pd

    from vmtl._utils.types import Array

ROWS = "Rows to predict, with the columns of training; or a folder of Parquet files, which is read piece by piece."
Coverage = Annotated[
    float | None,
    typer.Option(help="Add an interval, or a set of classes, that holds the truth this often, such as 0.9."),
]


def predict(
    model: ModelFile,
    table: Annotated[Path, typer.Argument(metavar="TABLE", help=ROWS)],
    out: Annotated[
        Path | None, typer.Option(help="The CSV to write; standard output if left out. Of a folder, another one.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="The task column, if it has another name than in training.")] = None,
    coverage: Coverage = None,
    unknown_task: UnknownOrSkip = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    engine: Engine = None,
    workers: Workers = None,
    address: Address = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Predict new rows; the table is written with further columns.

    `prediction`, for classes one `probability_<class>` each, and the uncertainty: `total`, and its parts
    `aleatoric` (noise in the data) and `epistemic` (what more data would tell). It is an entropy in nats for
    classes and a standard deviation in the target's unit for numbers. With `--coverage 0.9` also `low` and `high`,
    between which 90 % of the numbers lie, or `set`, the classes among which the true one is in 90 % of the rows.
    A folder of Parquet files becomes a folder with files of the same names.
    """
    from vmtl.cli._support.folders import check_engine, predict_folder

    if table.is_dir():
        how = (engine or "local", workers, address)
        done = predict_folder(
            model, table, out, *how, task=task, coverage=coverage, unknown_task=unknown_task, quiet=quiet
        )
        show_json(done) if json else note(f"{out}: {done['rows']} rows in {done['files']} files.", quiet)
        return
    check_engine(table, engine, workers, address)
    is_exact, how_read = json and out is None, (encoding, sheet)
    result, columns = predict_table(model, table, out, task, coverage, unknown_task, quiet or json, is_exact, how_read)
    write(result, columns, out, quiet, json)


def predict_table(
    model: Path,
    table: Path,
    out: Path | None,
    task: str | None,
    coverage: float | None,
    unknown_task: str | None,
    quiet: bool,
    is_exact: bool,
    how: tuple[str | None, str | None],
) -> tuple[pd.DataFrame, list[str]]:
    """The rows of a table that is read whole with what is predicted, and the names of the new columns."""
    from vmtl.cli._support.files import check_table_output
    from vmtl.cli._support.loading import load_model, read_rows, task_name
    from vmtl.cli._support.reading import remark_on

    if out is not None:
        check_table_output(out, model, table)
    skips = unknown_task == "skip"
    fitted = load_model(model, "error" if skips else unknown_task)
    rows = read_rows(table, fitted, task, encoding=how[0], sheet=how[1])
    known, skipped = known_rows(fitted, rows.tasks) if skips else (None, [])
    note("\n".join(filter(None, [remark_on(rows.table), *skipped])), quiet or not (skipped or remark_on(rows.table)))
    X, tasks = (rows.X, rows.tasks) if known is None else (take(rows.X, known), rows.tasks[known])
    note_unknown(fitted, X, tasks, quiet)
    columns = all_columns(fitted, X, tasks, coverage, table)
    columns = of_all_rows(columns if is_exact else rounded(columns), known, len(rows.tasks))
    result = beside(rows.table, columns, table) if rows.table is not None else columns
    if rows.table is None:
        result.insert(0, task_name(fitted, task), rows.tasks)
    return result, list(columns.columns)


def take(X: Array | pd.DataFrame, rows: Array) -> Array | pd.DataFrame:
    """Some rows of a table or an array."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def write(result: pd.DataFrame, columns: list[str], out: Path | None, quiet: bool, json: bool) -> None:
    """Write the table to its file, or to standard output."""
    from vmtl.cli._support.files import csv_text, write_csv

    if out is None:
        show_json(result.to_dict(orient="records")) if json else typer.echo(csv_text(result), nl=False)
        return
    write_csv(result, out)
    if json:
        show_json({"out": str(out), "rows": len(result), "columns": columns})
    note(f"{out}: {len(result)} rows with {', '.join(columns)}.", quiet or json)
