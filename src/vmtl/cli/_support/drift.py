"""New rows beside the training rows, of which a model file keeps a profile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vmtl._utils.messages import counted, quoted
from vmtl.cli._support.advice import shown_value

if TYPE_CHECKING:
    import pandas as pd

    from vmtl._utils.types import Array
    from vmtl.data.column_profiles import ColumnProfile, Drift, MovedMean, TableProfile
    from vmtl.data.problem import Problem
    from vmtl.estimators import MultiTaskEstimator

#: Share of the rows by which gaps, or new levels, must have grown to be named.
NAMED = 0.05


def profile_of(problem: Problem) -> TableProfile:
    """The profile of training rows: counts of ranges and levels, and means of tasks with some rows."""
    from vmtl.data.column_profiles import TableProfile
    from vmtl.data.column_types import column_formats
    from vmtl.estimators.inputs.feature_table import as_table

    table = as_table(problem.X)
    return TableProfile.of(table, column_formats(table), problem.task, problem.task_names)


def stored_profile(model: MultiTaskEstimator, path: Path) -> TableProfile:
    """The profile in a model file."""
    from vmtl.data.column_profiles import TableProfile

    document = model.metadata_.get("profile")
    if document is None:
        raise ValueError(
            f"{path} does not say what its training rows looked like; fit it again from a table with `vmtl fit`."
        )
    try:
        return TableProfile.from_json(document)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"The profile of the training rows in {path} is damaged; fit it again.") from error


def compare_columns(known: TableProfile, table: pd.DataFrame) -> list[dict[str, object]]:
    """One dict per column of training: whether it has shifted, how far, and in what way."""
    from vmtl.data.column_profiles import FAR, drift

    lines: list[dict[str, object]] = []
    for name, profile in known.columns.items():
        line: dict[str, object] = {"column": name, "taken for": str(profile.form)}
        if name not in table.columns:
            lines.append({**line, "verdict": "missing", "shift": None, "what": "not in the table"})
            continue
        try:
            found = drift(profile, table[name])
        except ValueError as error:
            lines.append({**line, "verdict": "unreadable", "shift": None, "what": str(error)})
            continue
        shifted = found.has_shifted(len(known.columns))
        verdict = ("far" if found.index >= FAR else "shifted") if shifted else "alike"
        what = what_changed(profile, table[name], found) if shifted else ""
        lines.append({**line, "verdict": verdict, "shift": found.index, "what": what})
    return lines


def what_changed(profile: ColumnProfile, column: pd.Series, found: Drift) -> str:
    """The change in words: more or fewer gaps, other levels, another mean."""
    from vmtl.data.columns import as_levels, as_numbers

    said = []
    before, now = found.training[-1], found.new[-1]
    if abs(now - before) >= NAMED:
        said.append(f"{now:.0%} missing, {before:.0%} in training")
    if profile.form.kind != "text":
        values = as_numbers(column, profile.form)
        if (values == values).any():
            mean, old = values[values == values].mean(), profile.mean
            said.append(f"mean {rounded(mean, profile)}, {rounded(old, profile)} in training")
        return "; ".join(said)
    if found.new[-2] - found.training[-2] >= NAMED:
        levels = [level for level in dict.fromkeys(as_levels(column.dropna())) if level not in profile.levels]
        said.append(f"{found.new[-2]:.0%} of the rows have new values such as {quoted(levels, 3)}")
    moves = found.new[:-2] - found.training[:-2]
    place = int(abs(moves).argmax()) if len(moves) else -1
    if place >= 0 and abs(moves[place]) >= NAMED:
        said.append(
            f"{profile.levels[place]!r} in {found.new[place]:.0%} of the rows, {found.training[place]:.0%} in training"
        )
    return "; ".join(said)


def rounded(value: float, profile: ColumnProfile) -> str:
    """A mean with four digits, or the day."""
    return shown_value(value if profile.form.kind == "date" else float(f"{value:.4g}"), profile.form)


def moved_tasks(known: TableProfile, table: pd.DataFrame, tasks: Array) -> list[MovedMean]:
    """Tasks whose columns have another mean than in training."""
    import numpy as np

    from vmtl.data.column_profiles import moved_means

    readable = {line["column"] for line in compare_columns(known, table) if line["shift"] is not None}
    names, task = np.unique(tasks.astype(str), return_inverse=True)
    return moved_means(known, table[[name for name in known.columns if name in readable]], task, tuple(names.tolist()))


def new_tasks(known: TableProfile, tasks: Array) -> dict[str, int]:
    """The tasks that were not in training, with their rows; those with most rows first."""
    from collections import Counter

    counts = Counter(str(task) for task in tasks if str(task) not in known.rows)
    return dict(counts.most_common())


def sentence_on_tasks(known: TableProfile, tasks: Array) -> str:
    """``120 rows of 8 tasks; 1 task was not in training: 'x' (12 rows).``"""
    names = {str(task) for task in tasks}
    said = f"{counted(len(tasks), 'row')} of {counted(len(names), 'task')}"
    strange = new_tasks(known, tasks)
    if not strange:
        return f"{said}, all known from training."
    was = "1 task was" if len(strange) == 1 else f"{len(strange)} tasks were"
    shown = ", ".join(f"{name!r} ({counted(rows, 'row')})" for name, rows in list(strange.items())[:5])
    return f"{said}; {was} not in training: {shown}{' …' if len(strange) > 5 else ''}."
