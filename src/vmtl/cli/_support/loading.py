"""Files that commands read: models of either kind, labelled tables, and rows to predict."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vmtl._utils.messages import did_you_mean
from vmtl._utils.types import Array
from vmtl.cli._support.column_options import DEFAULT_TARGET, DEFAULT_TASK, named_by_options, not_recorded
from vmtl.cli._support.files import check_model_file
from vmtl.data.columns import as_levels, as_numbers
from vmtl.data.preprocessing import lacking
from vmtl.data.problem import Problem
from vmtl.datasets import read_table
from vmtl.datasets.frame_files import read_frame
from vmtl.datasets.npz import load_npz
from vmtl.estimators import load

if TYPE_CHECKING:
    import pandas as pd

    from vmtl.estimators import MultiTaskEstimator


@dataclass(frozen=True)
class UnlabelledRows:
    """Rows to predict: the table as it was read (None for arrays), features and a task for each row."""

    table: pd.DataFrame | None
    X: Array | pd.DataFrame
    tasks: Array


def load_model(path: Path, unknown_task: str | None = None) -> MultiTaskEstimator:
    """The model in a file, classifier or regressor; ``unknown_task`` takes the place of what it was fitted with."""
    if unknown_task not in (None, "error", "average", "similar"):
        raise ValueError(f"--unknown-task is {unknown_task!r}; choose error, average or similar.")
    model = load(check_model_file(path))
    return model if unknown_task is None else model.set_params(unknown_task=unknown_task)


def is_classifier(model: MultiTaskEstimator) -> bool:
    """Whether a model predicts classes."""
    return hasattr(model, "classes_")


def task_name(model: MultiTaskEstimator, name: str | None = None) -> str:
    """The name of the task column: ``name``, or as in training."""
    return name or _recorded(model).get("task", DEFAULT_TASK)


def target_name(model: MultiTaskEstimator, name: str | None = None) -> str:
    """The name of the target column: ``name``, or as in training."""
    return name or _recorded(model).get("target", DEFAULT_TARGET)


def _recorded(model: MultiTaskEstimator) -> dict[str, str]:
    """The columns of the task and the target, of which a file that was saved from Python may say nothing."""
    noted = {name: model.metadata_[name] for name in ("task", "target") if name in model.metadata_}
    recorded = ({} if model.task_column is None else {"task": model.task_column}) | noted
    return {name: str(column) for name, column in recorded.items()}


def as_written(names: Sequence[str]) -> Array:
    """Names as the user wrote them: whole numbers where all of them are, else text."""
    whole = all(name.lstrip("-").isdecimal() and len(name) < 16 and str(int(name)) == name for name in names)
    return np.array([int(name) for name in names] if whole else list(names))


def read_labelled(
    path: Path,
    model: MultiTaskEstimator,
    task: str | None,
    target: str | None,
    *,
    encoding: str | None = None,
    sheet: str | None = None,
) -> tuple[Problem, Array, Array]:
    """Labelled rows for a fitted model: the problem, and its tasks and labels as the model knows them."""
    kind = "classification" if is_classifier(model) else "regression"
    given = {"task": task, "target": target}
    with named_by_options([name for name in given if not given[name] and name not in _recorded(model)], model=True):
        columns = (task_name(model, task), target_name(model, target))
        problem = read_table(path, *columns, kind=kind, encoding=encoding, sheet=sheet)
    if not problem.n_rows:
        raise ValueError(f"{path} has no rows; give at least one.")
    check_features(path, problem.X, model)
    labels = problem.labels
    if is_classifier(model):
        known = {str(label): place for place, label in enumerate(model.classes_)}
        strange = sorted({str(label) for label in labels} - set(known))
        if strange:
            near = did_you_mean(strange[0], known)
            repair = "spell it as in training" if near else "remove its rows"
            raise ValueError(f"{path} has the class {strange[0]!r}{near}, which the model never saw; {repair}.")
        labels = model.classes_[[known[str(label)] for label in labels]]
    return problem, match_tasks(problem.tasks, model), labels


def read_rows(path: Path, model: MultiTaskEstimator, task: str | None, **how: str | None) -> UnlabelledRows:
    """Rows to predict; a target column may be there or not. ``how`` = the encoding of the file, or its sheet."""
    if path.suffix.lower() == ".npz":
        problem = load_npz(path, task=task_name(model, task))
        return UnlabelledRows(None, problem.X, match_tasks(problem.tasks, model))
    table = read_frame(path, **how)
    if not len(table):
        raise ValueError(f"{path} has no rows; give at least one.")
    return rows_of(path, table, model, task)


def rows_of(path: Path, table: pd.DataFrame, model: MultiTaskEstimator, task: str | None) -> UnlabelledRows:
    """The same of a table that was read from ``path``."""
    column = task_name(model, task)
    if column in table.columns:
        if table[column].isna().any():
            raise ValueError(f"Column {column!r} of {path} is empty in some rows; every row needs its task.")
        check_features(path, table, model)
        return UnlabelledRows(table, table, match_tasks(as_levels(table[column]), model))
    if len(model.tasks_) > 1 and model.unknown_task == "error":
        if not task and "task" not in _recorded(model):
            raise ValueError(not_recorded("task"))
        near = did_you_mean(column, table.columns)
        raise ValueError(f"{path} has no task column {column!r}{near}; add it, or choose another with --task COLUMN.")
    check_features(path, table, model)
    return UnlabelledRows(
        table, table, np.full(len(table), model.tasks_[0] if len(model.tasks_) == 1 else "", dtype=object)
    )


def tasks_of(path: Path, table: pd.DataFrame, model: MultiTaskEstimator, task: str | None) -> Array:
    """The task of each row by name; the only one of a model of one task where the table has no such column."""
    column = task_name(model, task)
    if column in table.columns:
        return as_levels(table[column])
    if len(model.tasks_) > 1:
        near = did_you_mean(column, table.columns)
        raise ValueError(f"{path} has no task column {column!r}{near}; add it, or choose another with --task COLUMN.")
    return np.full(len(table), str(model.tasks_[0]), dtype=object)


def check_features(path: Path, X: Array | pd.DataFrame, model: MultiTaskEstimator) -> None:
    """A table has every column that the model was fitted on, and numbers and dates where there were some."""
    if isinstance(X, np.ndarray) or model.preprocessor_ is None:
        return
    place = {str(name): j for j, name in enumerate(X.columns)}
    absent = [name for name in features_of(model) if name not in place]
    if absent:
        raise ValueError(lacking(str(path), absent, place, [*features_of(model), task_name(model)]))
    for name, form in model.preprocessor_.formats_.items():
        if form.kind != "text":
            as_numbers(X.iloc[:, place[name]], form, source=path)


def features_of(model: MultiTaskEstimator) -> list[str]:
    """The columns of the tables that a model reads; empty for a model of arrays."""
    return list(model.preprocessor_.feature_names_in_) if model.preprocessor_ is not None else []


def digest(problem: Problem, model: MultiTaskEstimator) -> str:
    """A digest of labelled rows in any order, of what a model reads of them."""
    import pandas as pd
    from pandas.util import hash_array, hash_pandas_object

    columns = features_of(model) if hasattr(problem.X, "columns") else []
    of_rows = hash_pandas_object(problem.X[columns] if columns else pd.DataFrame(problem.X), index=False)
    table = np.column_stack([of_rows, hash_array(problem.tasks), hash_array(problem.labels)])
    return hashlib.sha256(np.unique(table, axis=0).tobytes()).hexdigest()


def match_tasks(levels: Array, model: MultiTaskEstimator) -> Array:
    """Task labels as the model knows them: 1, 1.0 and "1" are one task, as in any table."""
    known = {str(task): task for task in model.tasks_}
    tasks = np.empty(len(levels), dtype=object)
    tasks[:] = [known.get(str(level), level) for level in levels]
    return tasks
