"""What a newcomer should know about a table before it is fitted."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from vmtl._utils.messages import counted, quoted

if TYPE_CHECKING:
    import pandas as pd

    from vmtl._utils.types import Array
    from vmtl.data.problem import Problem

#: Columns whose look takes more than a moment, and columns that one sentence names.
MANY_COLUMNS, MOST_NAMED = 100, 5


def what_was_read(problem: Problem, target: str, forced: bool) -> str:
    """A sentence on the table, with the kind of problem and how to choose the other one."""
    kind = "classification" if problem.is_classification else "regression"
    seen = counted(problem.n_classes, "class", "classes") if problem.is_classification else "real numbers"
    hint = "" if forced else other_kind(problem)
    return (
        f"{problem.name}: {counted(problem.n_rows, 'row')}, {counted(problem.n_tasks, 'task')}, "
        f"{columns_by_kind(problem.X)}; {target!r} has {seen}, so this is {kind}{hint}."
    )


def other_kind(problem: Problem) -> str:
    """How to have the other kind of problem, where the target allows it."""
    from vmtl.cli._support.loading import as_written

    if problem.class_names is None:
        return " (force the other with --kind classification)"
    if as_written(problem.class_names).dtype.kind == "i":
        return "; if its numbers are amounts rather than names, add --kind regression"
    return ""


def columns_by_kind(X: Array | pd.DataFrame) -> str:
    """``8 columns (4 numbers, 3 text, 1 date)``."""
    from vmtl.data.columns import column_kind

    if not hasattr(X, "columns"):
        return counted(X.shape[1], "column")
    kinds = Counter(column_kind(X[name]) for name in X.columns)
    named = {"number": "numbers", "text": "text", "date": "dates"}
    parts = [counted(kinds[one], one, many) for one, many in named.items() if kinds[one]]
    return f"{counted(X.shape[1], 'column')} ({', '.join(parts)})"


def warnings_about(problem: Problem, visible: bool = False) -> Iterator[str]:
    """Sentences on what is allowed but seldom intended; with a progress bar if ``visible`` and there is much to see."""
    if problem.n_tasks == 1:
        yield "There is one task only, so there is nothing to share; --task names the column that tells tasks apart."
    if hasattr(problem.X, "columns"):
        yield from filter(None, (about_column(problem.X[name], problem.task) for name in problem.X.columns))
        yield from about_constants(problem.X)
        yield from about_leaks(problem, visible)


def about_column(column: pd.Series, task: Array | None = None) -> str | None:
    """Why a column may not be what the user takes it for."""
    from vmtl.data.columns import looks_like_identifier, numbers_the_rows, slips

    odd = slips(column)
    if len(odd):
        share = int(100 * (1 - len(odd) / column.notna().sum()))
        cells, are = counted(len(odd), "cell"), "is" if len(odd) == 1 else "are"
        return (
            f"{column.name!r} is {share} % numbers; {cells} such as {column.iloc[odd[0]]!r} {are} not, "
            "so it is treated as text; leave gaps there to use it as numbers."
        )
    if looks_like_identifier(column):
        return f"{column.name!r} looks like an identifier, with another text in nearly every row; {drop(column.name)}."
    if numbers_the_rows(column, task):
        return (
            f"{column.name!r} looks like a row number or an identifier, with whole numbers that never repeat; "
            f"{drop(column.name)}."
        )
    return None


def about_constants(X: pd.DataFrame) -> Iterator[str]:
    """One sentence on all columns that never change."""
    from vmtl.data.columns import is_constant

    same = [name for name in X.columns if is_constant(X[name])]
    if same:
        have, them = ("has", "it tells") if len(same) == 1 else ("have", "they tell")
        yield f"{quoted(same)} {have} the same value in every row, so {them} nothing; {drop(*same)}."


def about_leaks(problem: Problem, visible: bool) -> Iterator[str]:
    """Sentences on columns that predict the target alone."""
    from vmtl._utils.progress_bar import progress_bar
    from vmtl.data.leaks import find_leaks
    from vmtl.estimators.inputs.feature_table import as_table

    n_columns = problem.X.shape[1]
    with progress_bar("Columns", n_columns, visible=visible and n_columns > MANY_COLUMNS) as show:
        leaks = find_leaks(as_table(problem.X), problem.y, problem.is_classification, done=show)
    of = "balanced accuracy" if problem.is_classification else "R2"
    for name, score in leaks.items():
        yield (
            f"{name!r} alone predicts the target almost perfectly ({of} {score:.3f} on left-out rows); if it is known "
            f"only after the target, {drop(name)}."
        )


def drop(*names: object) -> str:
    """How to leave columns out."""
    options = " ".join(f"--drop {shlex.quote(str(name))}" for name in names[:MOST_NAMED])
    return f"leave {'it' if len(names) == 1 else 'them'} out with {options}{' …' if len(names) > MOST_NAMED else ''}"
