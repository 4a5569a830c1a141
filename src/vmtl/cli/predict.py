"""``vmtl predict``: a model and new rows -> predictions with their uncertainty."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vmtl.cli._support.console import note, show_json
from vmtl.cli._support.options import Debug, Json, ModelFile, Quiet, UnknownTask
from vmtl.cli._support.unknown import note_unknown

if TYPE_CHECKING:
    import pandas as pd

    from vmtl._utils.types import Array, MatrixLike
    from vmtl.estimators import MultiTaskEstimator

Coverage = Annotated[
    float | None,
    typer.Option(help="Add an interval, or a set of classes, that holds the truth this often, such as 0.9."),
]


def predict(
    model: ModelFile,
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="Rows to predict, with the columns of training.")],
    out: Annotated[Path | None, typer.Option(help="The CSV to write; standard output if left out.")] = None,
    task: Annotated[str | None, typer.Option(help="The task column, if it has another name than in training.")] = None,
    coverage: Coverage = None,
    unknown_task: UnknownTask = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Predict new rows; the table is written with further columns.

    `prediction`, for classes one `probability_<class>` each, and the uncertainty: `total`, and its parts
    `aleatoric` (noise in the data) and `epistemic` (what more data would tell). It is an entropy in nats for
    classes and a standard deviation in the target's unit for numbers. With `--coverage 0.9` also `low` and `high`,
    between which 90 % of the numbers lie, or `set`, the classes among which the true one is in 90 % of the rows.
    """
    from vmtl.cli._support.files import check_table_output, csv_text, write_csv
    from vmtl.cli._support.loading import load_model, read_rows, task_name

    if out is not None:
        check_table_output(out, model, table)
    rows = read_rows(table, fitted := load_model(model, unknown_task), task)
    note_unknown(fitted, rows.X, rows.tasks, quiet or json)
    columns = prediction_columns(fitted, rows.X, rows.tasks)
    if coverage is not None:
        columns = beside(columns, guaranteed_columns(fitted, rows.X, rows.tasks, coverage), table)
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


def prediction_columns(model: MultiTaskEstimator, X: MatrixLike, tasks: Array) -> pd.DataFrame:
    """DataFrame: prediction, one probability per class, and total, aleatoric, epistemic."""
    import pandas as pd

    from vmtl import MultiTaskClassifier

    columns: dict[str, Array] = {}
    if isinstance(model, MultiTaskClassifier):
        probabilities = model.predict_proba(X, tasks=tasks)
        columns["prediction"] = model.classes_[probabilities.argmax(axis=1)]
        for place, label in enumerate(model.classes_):
            columns[f"probability_{label}"] = probabilities[:, place]
    else:
        columns["prediction"] = model.predict(X, tasks=tasks)
    uncertainty = model.uncertainty(X, tasks=tasks).reset_index(drop=True)
    return pd.concat([pd.DataFrame(columns), uncertainty], axis=1)


def guaranteed_columns(model: MultiTaskEstimator, X: MatrixLike, tasks: Array, coverage: float) -> pd.DataFrame:
    """DataFrame: low and high, or the classes of the set in one cell."""
    import pandas as pd

    from vmtl import MultiTaskClassifier

    if not isinstance(model, MultiTaskClassifier):
        return model.predict_interval(X, tasks=tasks, coverage=coverage).reset_index(drop=True)
    inside = model.predict_set(X, tasks=tasks, coverage=coverage).to_numpy()
    return pd.DataFrame({"set": ["; ".join(map(str, model.classes_[row])) for row in inside]})


def rounded(columns: pd.DataFrame) -> pd.DataFrame:
    """Probabilities and uncertainties with six significant digits; the prediction stays as it is."""
    names = [name for name in columns.columns if name not in ("prediction", "set")]
    return columns.assign(**{name: [float(f"{value:.6g}") for value in columns[name]] for name in names})


def beside(table: pd.DataFrame, columns: pd.DataFrame, path: Path) -> pd.DataFrame:
    """The user's table with the new columns to its right."""
    import pandas as pd

    taken = [name for name in columns.columns if name in set(map(str, table.columns))]
    if taken:
        raise ValueError(f"{path} already has a column {taken[0]!r}; rename it, so that nothing is overwritten.")
    return pd.concat([table.reset_index(drop=True), columns], axis=1)
