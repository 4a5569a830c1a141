"""What every column of a table was taken for, and what its tasks and classes are like."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from vmtl._utils.messages import counted, first_few, quoted
from vmtl.cli._support.advice import shown_value

if TYPE_CHECKING:
    import pandas as pd

    from vmtl._utils.types import Array
    from vmtl.data.column_format import ColumnFormat
    from vmtl.data.problem import Problem

#: Rows below which a task has few; levels and tasks that one sentence names.
FEW_ROWS, MOST_NAMED = 10, 4


def column_lines(problem: Problem) -> list[dict[str, object]]:
    """One dict per column: its name, what it was taken for, its values, and the share of gaps."""
    import numpy as np

    from vmtl.data.column_types import column_formats
    from vmtl.data.columns import as_numbers
    from vmtl.estimators.inputs.feature_table import as_table

    table = as_table(problem.X)
    lines: list[dict[str, object]] = []
    for name, form in column_formats(table).items():
        column = table[name]
        if form.kind == "text":
            values, gaps = levels_of(column), column.isna().to_numpy()
        else:
            numbers = as_numbers(column, form)
            values, gaps = range_of(numbers, form), np.isnan(numbers)
        missing = f"{gaps.mean():.1%}" if gaps.any() else ""
        lines.append({"column": name, "taken for": str(form), "values": values, "missing": missing})
    return lines


def levels_of(column: pd.Series) -> str:
    """``3 different: red, blue, green``, the most frequent first."""
    from vmtl.data.columns import as_levels

    counts = Counter(as_levels(column.dropna()).tolist())
    shown = [level for level, _ in counts.most_common(MOST_NAMED)]
    rest = f" and {len(counts) - MOST_NAMED} more" if len(counts) > MOST_NAMED else ""
    return f"{len(counts)} different: {', '.join(shown)}{rest}"


def range_of(values: Array, form: ColumnFormat) -> str:
    """``from 0 to 85, median 3``."""
    import numpy as np

    known = values[~np.isnan(values)]
    if not len(known):
        return "none"
    low, middle, high = (shown_value(float(v), form) for v in (known.min(), np.median(known), known.max()))
    return f"from {low} to {high}, median {middle}"


def about_tasks(problem: Problem) -> list[str]:
    """Sentences on how many rows tasks have."""
    import numpy as np

    counts = np.bincount(problem.task, minlength=problem.n_tasks)
    low, high = counts.min(), counts.max()
    rows = f"{counted(low, 'row')} each" if low == high else f"{low} to {high} rows each (median {np.median(counts):g})"
    said = [f"{counted(problem.n_tasks, 'task')} with {rows}."]
    few = np.flatnonzero(counts < FEW_ROWS)
    if len(few):
        order = few[np.argsort(counts[few], kind="stable")]
        names = first_few([f"{problem.task_names[t]!r} ({counts[t]})" for t in order], MOST_NAMED)
        have = f"{counted(len(few), 'task')} {'has' if len(few) == 1 else 'have'}"
        have = "All tasks have" if len(few) == problem.n_tasks > 1 else have
        said.append(f"{have} fewer than {FEW_ROWS} rows, and will lean on the others: {names}.")
    return said


def about_classes(problem: Problem) -> list[str]:
    """Sentences on how many rows classes have, and in which tasks they are absent."""
    import numpy as np

    if problem.class_names is None:
        return []
    counts = np.bincount(problem.y, minlength=problem.n_classes)
    order = np.argsort(-counts, kind="stable")
    rows = first_few([f"{problem.class_names[c]!r} ({counts[c]})" for c in order], 8)
    said = [f"{counted(problem.n_classes, 'class', 'classes')}, by rows: {rows}."]
    once = [problem.class_names[c] for c in np.flatnonzero(counts == 1)]
    if once:
        occur = "occurs in one row only" if len(once) == 1 else "occur in one row each"
        said.append(f"{quoted(once)} {occur}: too few to learn, and none is left to test on.")
    seen = np.zeros((problem.n_tasks, problem.n_classes), dtype=bool)
    seen[problem.task, problem.y] = True
    lacking = int((~seen.all(axis=1)).sum())
    if lacking:
        single = int((seen.sum(axis=1) == 1).sum())
        rest = f"; in {single} of them all rows have the same class" if single else ""
        some = f"{lacking} of {counted(problem.n_tasks, 'task')} {'lacks' if lacking == 1 else 'lack'} a class"
        said.append(f"{'No task has every class' if lacking == problem.n_tasks else some}{rest}.")
    return said
