"""What a newcomer should know about a table before it is fitted."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from vmtl._utils.messages import counted

if TYPE_CHECKING:
    import pandas as pd

    from vmtl._utils.types import Array
    from vmtl.data.problem import Problem


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


def warnings_about(problem: Problem) -> Iterator[str]:
    """Sentences on what is allowed but seldom intended."""
    if problem.n_tasks == 1:
        yield "There is one task only, so there is nothing to share; --task names the column that tells tasks apart."
    if hasattr(problem.X, "columns"):
        yield from filter(None, (about_column(problem.X[name]) for name in problem.X.columns))


def about_column(column: pd.Series) -> str | None:
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
    leave_out = f"leave it out with --drop {shlex.quote(str(column.name))}."
    if looks_like_identifier(column):
        return f"{column.name!r} looks like an identifier, with another text in nearly every row; {leave_out}"
    if numbers_the_rows(column):
        return f"{column.name!r} looks like a row number, with another whole number in every row; {leave_out}"
    return None
