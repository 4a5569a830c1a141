"""Your own table: CSV, Parquet, Feather or NPZ with a column for the task and one for the target."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vmtl.columns import as_levels, listed
from vmtl.datasets.npz import KINDS, load_npz
from vmtl.problem import Array, Problem

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

    task, target : the columns that say which task a row belongs to and what to predict.
    kind : ``classification``, ``regression``, or ``auto``: text, booleans and up to 20 whole numbers are
        classes.
    drop : columns to leave out, such as a row number.
    groups : a column whose equal values stay on one side of every split, such as a patient.
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; choose one of {', '.join(KINDS)}.")
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"There is no file {file}; check the path.")
    if file.suffix.lower() == ".npz":
        key = target if _has(file, target) else "y"
        return load_npz(file, task=task, target=key, kind=kind, name=name)
    table = read_frame(file)
    needed = [task, target, *drop, *([groups] if groups else [])]
    absent = [column for column in needed if column not in table.columns]
    if absent:
        there = listed([str(column) for column in table.columns], most=20)
        raise ValueError(f"{file} has no column {listed(absent)}, only {there}; name the right ones.")
    for column in (task, target):
        gaps = int(table[column].isna().sum())
        if gaps:
            raise ValueError(f"Column {column!r} of {file} is empty in {gaps} rows; fill or remove them.")
    task_names, task_index = np.unique(as_levels(table[task]).astype(str), return_inverse=True)
    y, class_names = _target(table[target], kind)
    return Problem(
        name=name or file.stem,
        X=table.drop(columns=list(dict.fromkeys(needed))).reset_index(drop=True),
        y=y,
        task=task_index.astype(np.int64),
        task_names=tuple(task_names.tolist()),
        class_names=class_names,
        groups=None if groups is None else as_levels(table[groups]).astype(str),
    )


def _has(file: Path, key: str) -> bool:
    with np.load(file, allow_pickle=False) as archive:
        return key in archive.files


def read_frame(path: str | Path) -> Any:
    """The rows of a CSV, TSV, Parquet or Feather file as a DataFrame, as they are."""
    import pandas as pd

    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"There is no file {file}; check the path.")
    suffix = file.suffix.lower()
    if suffix not in FORMATS or suffix == ".npz":
        raise ValueError(f"{file} is of no known kind; give one of {', '.join(FORMATS)}.")
    try:
        if suffix in (".csv", ".tsv"):
            return pd.read_csv(file, sep="\t" if suffix == ".tsv" else ",")
        return pd.read_parquet(file) if suffix == ".parquet" else pd.read_feather(file)
    except ImportError as error:
        raise ImportError('Parquet and Feather need pyarrow; run pip install "vmtl[tables]".') from error
    except (ValueError, OSError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ValueError(f"{file} cannot be read as a {suffix} table ({reason}); save it again.") from error


def _target(column: Any, kind: str) -> tuple[Array, tuple[str, ...] | None]:
    from pandas.api import types

    numeric = types.is_numeric_dtype(column.dtype) and not types.is_bool_dtype(column.dtype)
    if kind == "regression" and not numeric:
        raise ValueError(f"Target {column.name!r} is no number, as regression needs; choose another column.")
    if numeric:
        values = column.to_numpy(dtype=np.float64)
        if not np.isfinite(values).all():
            raise ValueError(f"Target {column.name!r} holds an infinite value; replace or remove it.")
        few = len(np.unique(values)) <= MOST_CLASSES and bool((values == np.round(values)).all())
        if kind == "regression" or (kind == "auto" and not few):
            return values.astype(np.float32), None
        levels, index = np.unique(values, return_inverse=True)
        return index.astype(np.int64), tuple(as_levels(_series(levels)).tolist())
    names, index = np.unique(as_levels(column).astype(str), return_inverse=True)
    return index.astype(np.int64), tuple(names.tolist())


def _series(values: Array) -> Any:
    import pandas as pd

    return pd.Series(values)
