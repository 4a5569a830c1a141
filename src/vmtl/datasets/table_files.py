"""Your own table: CSV, Parquet, Feather or NPZ with a column for the task and one for the target."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vmtl._utils.messages import counted
from vmtl._utils.missing_columns import check_columns
from vmtl._utils.missing_extra import require
from vmtl._utils.types import Array
from vmtl.data.columns import as_levels, first_odd, slips
from vmtl.data.problem import Problem
from vmtl.datasets.npz import check_kind_of_target, load_npz

if TYPE_CHECKING:
    import pandas as pd

MOST_CLASSES = 20  # whole numbers with more distinct values are a regression target, unless said otherwise
FORMATS = (".csv", ".tsv", ".parquet", ".feather", ".npz")


def read_table(
    path: str | Path,
    task: str = "domain",
    target: str = "label",
    *,
    kind: str = "auto",
    drop: Sequence[str] = (),
    groups: str | None = None,
    name: str | None = None,
) -> Problem:
    """Read a table; X keeps the raw columns, the estimators learn how to encode them from training rows.

    Parameters
    ----------
    path : path
        The file.
    task : str, default="domain"
        The column that says which task a row belongs to.
    target : str, default="label"
        The column to predict.
    kind : {"auto", "classification", "regression"}, default="auto"
        ``auto``: text, booleans and up to 20 whole numbers are classes.
    drop : sequence of str, default=()
        Columns to leave out, such as a row number.
    groups : str, default=None
        A column whose equal values stay on one side of every split, such as a patient.
    name : str, default=None
        The name of the problem; the file's name if None.
    """
    check_kind_of_target(kind)
    file = Path(path)
    if file.suffix.lower() == ".npz" and file.is_file():
        if drop or groups:
            raise ValueError(f"{file} is an array, whose columns have no names to drop or group by; use a table.")
        return load_npz(file, task=task, target=_target_array(file, task, target), kind=kind, name=name)
    table = read_frame(file)
    X = _feature_columns(file, table, task, target, drop, groups)
    group = table[groups] if groups else None
    return _problem_of_columns(name or file.stem, X, table[task], table[target], kind, group)


def _feature_columns(
    file: Path, table: pd.DataFrame, task: str, target: str, drop: Sequence[str], groups: str | None
) -> pd.DataFrame:
    """The table without the columns that were named, which must be there; task and target must have no gaps."""
    if not len(table):
        raise ValueError(f"{file} has no rows; give at least one per task.")
    named = {task: "task", target: "target"} | dict.fromkeys(drop, "drop") | ({groups: "groups"} if groups else {})
    check_columns(file, named, table.columns)
    _check_gaps(file, table, (task, target))
    return table.drop(columns=list(named)).reset_index(drop=True)


def _problem_of_columns(
    name: str, X: pd.DataFrame, task: pd.Series, target: pd.Series, kind: str, groups: pd.Series | None
) -> Problem:
    """Tasks and classes numbered in the order of their names."""
    task_names, task_index = np.unique(as_levels(task).astype(str), return_inverse=True)
    y, class_names = _encode_target(target, kind)
    return Problem(
        name=name,
        X=X,
        y=y,
        task=task_index.astype(np.int64),
        task_names=tuple(task_names.tolist()),
        class_names=class_names,
        groups=None if groups is None else as_levels(groups).astype(str),
    )


def _check_gaps(file: Path, table: pd.DataFrame, columns: Sequence[str]) -> None:
    for column in columns:
        if gaps := int(table[column].isna().sum()):
            them = "it" if gaps == 1 else "them"
            raise ValueError(f"Column {column!r} of {file} is empty in {counted(gaps, 'row')}; fill or remove {them}.")


def _target_array(file: Path, task: str, target: str) -> str:
    """The array of the target: ``target``, or else ``y``; one of them and that of the task must be there."""
    with np.load(file, allow_pickle=False) as archive:
        names = list(archive.files)
    found = target if target in names else "y"
    check_columns(file, {task: "task"} | ({} if found in names else {target: "target"}), names)
    return found


def read_frame(path: str | Path) -> pd.DataFrame:
    """The rows of a CSV, TSV, Parquet or Feather file as a DataFrame, as they are.

    A CSV may also be separated by semicolons or tabs, with decimal points or commas.
    """
    import pandas as pd

    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"There is no file {file}; check the path.")
    suffix = file.suffix.lower()
    if suffix not in FORMATS or suffix == ".npz":
        raise ValueError(f"{file} is of no known kind; export it as CSV, or give one of {', '.join(FORMATS)}.")
    try:
        if suffix in (".csv", ".tsv"):
            return _read_text(file)
        require("tables", f"Reading {suffix} files", "pyarrow")
        return pd.read_parquet(file) if suffix == ".parquet" else pd.read_feather(file)
    except pd.errors.EmptyDataError:
        raise ValueError(f"{file} is empty; give a table with a line of column names.") from None
    except UnicodeDecodeError:
        raise ValueError(f"{file} cannot be read: it is not UTF-8 text; save it as UTF-8.") from None
    except ImportError:
        raise
    except Exception as error:  # a damaged file fails in many ways
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise ValueError(f"{file} cannot be read as a {suffix} table ({reason}); save it again.") from error


def _read_text(file: Path) -> pd.DataFrame:
    """A text table; a comma can be the decimal sign where it separates nothing: the reading with more numbers."""
    import pandas as pd

    separator = _separator(file)
    decimals = "." if separator == "," else ".,"
    readings = [pd.read_csv(file, sep=separator, decimal=decimal) for decimal in decimals]
    return max(readings, key=lambda table: table.select_dtypes("number").shape[1])


def _separator(file: Path) -> str:
    """A tab for ``.tsv``, else the comma, semicolon or tab that the line of column names has most of."""
    if file.suffix.lower() == ".tsv":
        return "\t"
    with file.open(encoding="utf-8", errors="replace") as stream:
        header = stream.readline()
    return max(",;\t", key=header.count)


def _encode_target(column: pd.Series, kind: str) -> tuple[Array, tuple[str, ...] | None]:
    from pandas.api import types

    numeric = types.is_numeric_dtype(column.dtype) and not types.is_bool_dtype(column.dtype)
    if kind == "regression" and not numeric:
        raise ValueError(
            f"Target {column.name!r} is no number, as regression needs: {first_odd(column)}; "
            "repair it, or choose another column."
        )
    odd = slips(column) if kind == "auto" and not numeric else ()
    if len(odd):
        cells, are, them = ("1 cell", "is", "it") if len(odd) == 1 else (f"{len(odd)} cells", "are", "them")
        raise ValueError(
            f"Target {column.name!r} is nearly all numbers; {cells} such as {first_odd(column)} {are} not; "
            f"repair {them}, or choose the kind classification."
        )
    if numeric:
        values = column.to_numpy(dtype=np.float64)
        if not np.isfinite(values).all():
            raise ValueError(f"Target {column.name!r} holds an infinite value; replace or remove it.")
        names_classes = len(np.unique(values)) <= MOST_CLASSES and bool((values == np.round(values)).all())
        if kind == "regression" or (kind == "auto" and not names_classes):
            if np.abs(values).max(initial=0.0) > np.finfo(np.float32).max:
                raise ValueError(f"Target {column.name!r} holds numbers beyond 3.4e38; divide them all by one number.")
            return values.astype(np.float32), None
        levels, index = np.unique(values, return_inverse=True)
        return index.astype(np.int64), tuple(as_levels(_series(levels)).tolist())
    names, index = np.unique(as_levels(column).astype(str), return_inverse=True)
    return index.astype(np.int64), tuple(names.tolist())


def _series(values: Array) -> pd.Series:
    import pandas as pd

    return pd.Series(values)
