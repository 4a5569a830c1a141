"""``vmtl suggest``: a model and unlabelled rows -> those to have labelled next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vmtl.cli._support.console import note, show_json
from vmtl.cli._support.options import Debug, Json, ModelFile, Quiet


def suggest(
    model: ModelFile,
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="Unlabelled rows, with the columns of training.")],
    n: Annotated[int, typer.Option("-n", "--rows", min=1, help="How many rows to choose.")] = 10,
    out: Annotated[Path | None, typer.Option(help="The CSV to write; standard output if left out.")] = None,
    for_task: Annotated[str | None, typer.Option(help="Choose for this task only, among its rows.")] = None,
    task: Annotated[str | None, typer.Option(help="The task column, if it has another name than in training.")] = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Choose the rows whose labels would tell most about all others.

    They are written as they are in the table, the row that tells most first, with its place in the table as `row`
    (from 1). Rows that say the same as one chosen before tell little, so a batch does not repeat itself.
    """
    import pandas as pd

    from vmtl.cli._support.files import check_table_output, csv_text, write_csv
    from vmtl.cli._support.loading import load_model, match_tasks, read_rows, task_name

    if out is not None:
        check_table_output(out, model, table)
    fitted = load_model(model, "error").set_params(verbose=0 if quiet or json else 1)
    rows = read_rows(table, fitted, task)
    wanted = None if for_task is None else match_tasks(pd.array([for_task], dtype=object), fitted)[0]
    chosen = fitted.suggest(rows.X, rows.tasks, n, task=wanted)
    whole = pd.DataFrame({task_name(fitted, task): rows.tasks}) if rows.table is None else rows.table
    result = whole.iloc[chosen].reset_index(drop=True)
    if "row" in result.columns:
        raise ValueError(f"{table} already has a column 'row'; rename it, so that nothing is overwritten.")
    result.insert(0, "row", chosen + 1)
    if out is not None:
        write_csv(result, out)
        note(f"{out}: {len(result)} rows to label, the one that tells most first.", quiet or json)
    if json:
        show_json({"rows": (chosen + 1).tolist(), "out": None if out is None else str(out)})
    elif out is None:
        typer.echo(csv_text(result), nl=False)
