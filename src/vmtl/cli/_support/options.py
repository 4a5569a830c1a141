"""Options that several commands share, so that they read alike everywhere."""

from __future__ import annotations

from importlib.metadata import entry_points
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from vmtl.cli._support.column_options import DEFAULT_TARGET, DEFAULT_TASK
from vmtl.cli._support.errors import remember_debug
from vmtl.cli._support.files import check_model_file

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No remarks and no progress bar.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for scripts.")]
Debug = Annotated[
    bool,
    typer.Option("--debug", help="Show the traceback of an error.", callback=remember_debug, expose_value=True),
]
Kind = Annotated[
    str,
    typer.Option(
        help="auto, classification or regression: auto looks at the target and says what it chose.",
        autocompletion=lambda: ["auto", "classification", "regression"],
    ),
]


Positive = Annotated[
    str | None,
    typer.Option(metavar="CLASS", help="Which of two classes is the event; the last in order if left out."),
]
UnknownTask = Annotated[
    str | None,
    typer.Option(help="A task that was not in training: error, average or similar; as at fit if left out."),
]
UnknownOrSkip = Annotated[
    str | None,
    typer.Option(
        help="A task that was not in training: error, average or similar; as at fit if left out. Or skip: its rows are "
        "left without a prediction, and counted."
    ),
]
TaskColumn = Annotated[
    str | None, typer.Option(help="The column that says which task a row belongs to.", show_default=DEFAULT_TASK)
]
TargetColumn = Annotated[str | None, typer.Option(help="The column to predict.", show_default=DEFAULT_TARGET)]
Drop = Annotated[list[str] | None, typer.Option(help="A column to leave out; may be repeated.")]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        metavar="COLUMN=TYPE",
        help="What a column is, whatever its cells look like: number, decimal-point, decimal-comma, date, day-first, "
        "month-first or text; may be repeated. `vmtl check` says what columns are taken for.",
    ),
]
Encoding = Annotated[
    str | None, typer.Option(help="The encoding of a text file, such as cp1252; found by itself if left out.")
]
Sheet = Annotated[str | None, typer.Option(help="The sheet of an Excel file; the first if left out.")]
Missing = Annotated[str, typer.Option(help="Gaps in the features: impute or error.")]
Relatedness = Annotated[
    str | None,
    typer.Option(
        help="How tasks share: learned, even (all alike), none (each alone) or pooled (as one task).",
        show_default="learned",
        autocompletion=lambda: ["learned", "even", "none", "pooled"],
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        help="Of --paper-method: paper or released.", show_default="paper", autocompletion=lambda: ["paper", "released"]
    ),
]
Steps = Annotated[
    int | None, typer.Option(min=1, help="Of --paper-method: training steps; the preset's number if left out.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any other option of the estimator; may be repeated."),
]


def method_names() -> list[str]:
    """The ids of all methods, off their files and entry points: completion must not wait for torch."""
    folder = files("vmtl").joinpath("paper", "methods")
    declared = {file.name.removesuffix(".py") for file in folder.iterdir() if _is_declaration(file)}
    return sorted(declared | {point.name for point in entry_points(group="vmtl.methods")})


def _is_declaration(file: Traversable) -> bool:
    return file.name.endswith(".py") and not file.name.startswith("_")


PaperMethod = Annotated[
    str | None,
    typer.Option(
        help="Fit a method of `vmtl methods`, such as vmtl, instead of a Gaussian process.", autocompletion=method_names
    ),
]
ModelFile = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="A model file written by `vmtl fit` or save().", callback=check_model_file),
]
LabelledTable = Annotated[
    Path, typer.Argument(metavar="TABLE", help="Labelled rows: CSV, TSV, Excel, Parquet, Feather, or NPZ features.")
]
Engine = Annotated[
    str | None,
    typer.Option(help="Who reads a folder of Parquet files: local, this process, or ray, workers of a cluster."),
]
Workers = Annotated[int | None, typer.Option(min=1, help="Ray workers; all of the cluster, or 2, if left out.")]
Address = Annotated[str | None, typer.Option(help="Address of a Ray cluster; one is started here if left out.")]
