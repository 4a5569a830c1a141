"""Your own table: CSV, Parquet, Feather or NPZ with a column for the task and one for the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vmtl._utils.messages import counted
from vmtl._utils.missing_columns import check_columns
from vmtl._utils.types import Array
from vmtl.data.column_format import ColumnFormat
from vmtl.data.column_types import column_format, nearest_format, set_column_types
from vmtl.data.columns import as_levels, first_odd
from vmtl.data.problem import Problem
from vmtl.datasets.frame_files import read_frame
from vmtl.datasets.npz import check_kind_of_target, load_npz

if TYPE_CHECKING:
    import pandas as pd

MOST_CLASSES = 20  # whole numbers with more distinct values are a regression target, unless said otherwise


def read_table(
    path: str | Path,
    task: str = "domain",
    target: str = "label",
    *,
    kind: str = "auto",
    drop: Sequence[str] = (),
    groups: str | None = None,
    name: str | None = None,
    types: Mapping[str, str] | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> Problem:
    """Read a table; X keeps the raw columns, the estimators learn how to encode them from training rows.

    Parameters
    ----------
    path : path
        The file.
    task, target : str, default="domain", "label"
        The columns that say which task a row belongs to, and what is to be predicted.
    kind : {"auto", "classification", "regression"}, default="auto"
        ``auto``: text, booleans and up to 20 whole numbers are classes.
    drop : sequence of str, default=()
        Columns to leave out.
    groups, name : str, default=None
        A column whose equal values stay together in every split; the name of the problem, if not the file's.
    types : dict of str to str, default=None
        What some columns are, whatever their cells look like; see ``set_column_types``.
    encoding, sheet : str, default=None
        The encoding of a text file, found by itself if None; the sheet of an Excel file, the first if None.
    """
    check_kind_of_target(kind)
    if (file := Path(path)).suffix.lower() == ".npz" and file.is_file():
        return _read_arrays(file, task, target, kind, name, any((drop, groups, types)))
    table = read_frame(file, encoding=encoding, sheet=sheet)
    X = set_column_types(_feature_columns(file, table, task, target, drop, groups), types or {})
    if not len(X):
        raise ValueError(f"{file} has no rows; give at least one per task.")
    return _problem_of_columns(name or file.stem, X, table, (task, target, groups), kind)


def _read_arrays(file: Path, task: str, target: str, kind: str, name: str | None, names_columns: bool) -> Problem:
    """The problem of an .npz file, whose features have no names."""
    if names_columns:
        raise ValueError(f"{file} is an array, whose columns have no names to drop, group by or type; use a table.")
    return load_npz(file, task=task, target=_target_array(file, task, target), kind=kind, name=name)


def _feature_columns(
    file: Path, table: pd.DataFrame, task: str, target: str, drop: Sequence[str], groups: str | None
) -> pd.DataFrame:
    """The table without the columns that were named, which must be there; task and target must have no gaps."""
    named = {task: "task", target: "target"} | dict.fromkeys(drop, "drop") | ({groups: "groups"} if groups else {})
    check_columns(file, named, table.columns)
    _check_gaps(file, table, (task, target))
    return table.drop(columns=list(named)).reset_index(drop=True)


def _problem_of_columns(
    name: str, X: pd.DataFrame, table: pd.DataFrame, columns: tuple[str, str, str | None], kind: str
) -> Problem:
    """Tasks and classes numbered in the order of their names; ``columns`` = task, target and groups."""
    task, target, groups = columns
    task_names, task_index = np.unique(as_levels(table[task]).astype(str), return_inverse=True)
    y, class_names = _encode_target(table[target], kind)
    return Problem(
        name=name,
        X=X,
        y=y,
        task=task_index.astype(np.int64),
        task_names=tuple(task_names.tolist()),
        class_names=class_names,
        groups=None if groups is None else as_levels(table[groups]).astype(str),
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


def _encode_target(column: pd.Series, kind: str) -> tuple[Array, tuple[str, ...] | None]:
    from pandas.api import types

    form = column_format(column)
    numeric = form.kind == "number" and not types.is_bool_dtype(column.dtype) and not _holds_booleans(column)
    if kind == "regression" and not numeric:
        remedy = "repair it, or choose another column"
        raise ValueError(
            f"Target {column.name!r} is no number, as regression needs: {_why_no_number(column)}; {remedy}."
        )
    if kind == "auto" and not numeric:
        _check_slips(column)
    if numeric:
        values = form.read(column)
        if not np.isfinite(values).all():
            raise ValueError(f"Target {column.name!r} holds an infinite value; replace or remove it.")
        whole = not form.decimal and bool((values == np.round(values)).all())
        names_classes = whole and len(np.unique(values)) <= MOST_CLASSES
        if kind == "regression" or (kind == "auto" and not names_classes):
            if np.abs(values).max(initial=0.0) > np.finfo(np.float32).max:
                raise ValueError(f"Target {column.name!r} holds numbers beyond 3.4e38; divide them all by one number.")
            return values.astype(np.float32), None
        levels, index = np.unique(values, return_inverse=True)
        return index.astype(np.int64), tuple(as_levels(_series(levels)).tolist())
    names, index = np.unique(as_levels(column).astype(str), return_inverse=True)
    return index.astype(np.int64), tuple(names.tolist())


def _holds_booleans(column: pd.Series) -> bool:
    return column.dtype == object and any(isinstance(value, bool | np.bool_) for value in column)


def _why_no_number(column: pd.Series) -> str:
    form = ColumnFormat("number", decimal=".")
    if np.isnan(form.read(column)).any():
        return first_odd(column, form)
    return "its cells mix units, or are text"


def _check_slips(column: pd.Series) -> None:
    """A target that is nearly all numbers has slips rather than classes."""
    found = nearest_format(column)
    if found is None or found[0].kind != "number":
        return
    n_odd = len(found[1])
    cells, are, them = ("1 cell", "is", "it") if n_odd == 1 else (f"{n_odd} cells", "are", "them")
    raise ValueError(
        f"Target {column.name!r} is nearly all numbers; {cells} such as {first_odd(column, found[0])} {are} not; "
        f"repair {them}, or choose the kind classification."
    )


def _series(values: Array) -> pd.Series:
    import pandas as pd

    return pd.Series(values)
