"""Files that commands read and write: checked before the work starts; what is written is complete or not there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from vmtl._utils.atomic_files import write_atomically

if TYPE_CHECKING:
    import pandas as pd

#: A text cell that starts like this is run as a formula by spreadsheet programs.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")

#: Kinds of tables that are written.
TABLE_KINDS = (".csv", ".tsv")


def check_model_file(path: Path) -> Path:
    """Refuse a path where no model can be; before anything is loaded that takes its time."""
    if not path.exists():
        raise FileNotFoundError(f"There is no model file {path}; make one with `vmtl fit`.")
    return path


def check_output(out: Path, *inputs: Path) -> None:
    """Refuse a place that cannot be written, or that is one of the inputs."""
    if out.is_dir():
        raise ValueError(f"{out} is a folder; give the name of a file to write.")
    if not out.parent.is_dir():
        raise ValueError(f"There is no folder {out.parent}; make it first, or write elsewhere.")
    if not os.access(out.parent, os.W_OK):
        raise PermissionError(f"The folder {out.parent} cannot be written to; choose another one.")
    if any(out.exists() and path.exists() and out.samefile(path) for path in inputs):
        raise ValueError(f"{out} is one of the inputs; choose another name, so that nothing is overwritten.")


def check_table_output(out: Path, *inputs: Path) -> None:
    """``check_output`` for a table; a name without an ending is a CSV."""
    if out.suffix.lower() not in ("", *TABLE_KINDS):
        raise ValueError(f"{out} is of no kind that can be written; end its name in {' or '.join(TABLE_KINDS)}.")
    check_output(out, *inputs)


def neutral(cell: object) -> object:
    """A text cell that no spreadsheet takes for a formula; numbers, also written as text, stay as they are."""
    if not isinstance(cell, str) or not cell.startswith(FORMULA_STARTS):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def whole(cell: object) -> object:
    """A cell whose line breaks are line feeds: those are quoted, a bare carriage return would begin a new row."""
    return cell.replace("\r\n", "\n").replace("\r", "\n") if isinstance(cell, str) else cell


def csv_text(table: pd.DataFrame, separator: str = ",") -> str:
    """A DataFrame as CSV whose text cells and column names are neutral and stay in their place."""
    from pandas.api import types

    safe = table.copy()
    for place, kind in enumerate(table.dtypes):
        if not (types.is_numeric_dtype(kind) or types.is_datetime64_any_dtype(kind)):
            safe.isetitem(place, table.iloc[:, place].astype(object).map(neutral).map(whole))
    safe.columns = [whole(neutral(str(name))) for name in table.columns]
    text: str = safe.to_csv(index=False, sep=separator, lineterminator="\n")
    return text


def write_csv(table: pd.DataFrame, out: Path) -> None:
    """Write a DataFrame to ``out``, all or nothing; a ``.tsv`` is separated by tabs."""
    separator = "\t" if out.suffix.lower() == ".tsv" else ","
    write_atomically(out, csv_text(table, separator).encode())
