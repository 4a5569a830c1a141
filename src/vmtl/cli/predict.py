"""``vmtl predict``: a model and new rows -> predictions with their uncertainty."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vmtl.cli._support.console import note, show_json
from vmtl.cli._support.options import Address, Debug, Engine, Json, ModelFile, Quiet, UnknownTask, Workers
from vmtl.cli._support.prediction_columns import all_columns, beside, rounded
from vmtl.cli._support.unknown import note_unknown

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
    unknown_task: UnknownTask = None,
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
    predict_table(model, table, out, task, coverage, unknown_task, quiet, json)


def predict_table(
    model: Path,
    table: Path,
    out: Path | None,
    task: str | None,
    coverage: float | None,
    unknown_task: str | None,
    quiet: bool,
    json: bool,
) -> None:
    """Predict the rows of a table that is read whole."""
    from vmtl.cli._support.files import check_table_output, csv_text, write_csv
    from vmtl.cli._support.loading import load_model, read_rows, task_name

    if out is not None:
        check_table_output(out, model, table)
    rows = read_rows(table, fitted := load_model(model, unknown_task), task)
    note_unknown(fitted, rows.X, rows.tasks, quiet or json)
    columns = all_columns(fitted, rows.X, rows.tasks, coverage, table)
    if out is not None or not json:
        columns = rounded(columns)
    result = beside(rows.table, columns, table) if rows.table is not None else columns
    if rows.table is None:
        result.insert(0, task_name(fitted, task), rows.tasks)
    if out is None:
        show_json(result.to_dict(orient="records")) if json else typer.echo(csv_text(result), nl=False)
        return
    write_csv(result, out)
    if json:
        show_json({"out": str(out), "rows": len(result), "columns": list(columns.columns)})
    note(f"{out}: {len(result)} rows with {', '.join(columns.columns)}.", quiet or json)
