"""What a newcomer should know about a table before it is fitted."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from vmtl._utils.messages import counted, first_few, quoted

if TYPE_CHECKING:
    import pandas as pd

    from vmtl._utils.types import Array
    from vmtl.data.column_format import ColumnFormat
    from vmtl.data.problem import Problem

#: Columns whose look takes more than a moment, and columns that one sentence names.
MANY_COLUMNS, MOST_NAMED = 100, 5


def what_was_read(problem: Problem, target: str, forced: bool) -> str:
    """A sentence on the table, with the kind of problem and how to choose the other one."""
    kind = "classification" if problem.is_classification else "regression"
    seen = counted(problem.n_classes, "class", "classes") if problem.is_classification else values_of(problem.y)
    hint = "" if forced else other_kind(problem)
    return (
        f"{problem.name}: {counted(problem.n_rows, 'row')}, {counted(problem.n_tasks, 'task')}, "
        f"{columns_by_kind(problem.X)}; {target!r} has {seen}, so this is {kind}{hint}."
    )


def values_of(y: Array) -> str:
    """``whole numbers from 0 to 85``."""
    what = "numbers" if (y % 1).any() else "whole numbers"
    return f"{what} from {shown_value(float(y.min()))} to {shown_value(float(y.max()))}"


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
    from vmtl.data.column_types import column_formats

    if not hasattr(X, "columns"):
        return counted(X.shape[1], "column")
    kinds = Counter(form.kind for form in column_formats(X).values())
    named = {"number": "numbers", "text": "text", "date": "dates"}
    parts = [counted(kinds[one], one, many) for one, many in named.items() if kinds[one]]
    return f"{counted(X.shape[1], 'column')} ({', '.join(parts)})"


def warnings_about(problem: Problem, target: str, visible: bool = False) -> Iterator[str]:
    """Sentences on what is allowed but seldom intended; with a progress bar if ``visible`` and there is much to see."""
    from vmtl.cli._support.reading import remark_on

    if problem.n_tasks == 1:
        yield "There is one task only, so there is nothing to share; --task names the column that tells tasks apart."
    yield from filter(None, [remark_on(problem.X)])
    if not problem.is_classification:
        yield from filter(None, [about_values(f"The target {target!r}", problem.y.astype(float), problem.task)])
    if hasattr(problem.X, "columns"):
        for name in problem.X.columns:
            yield from about_column(problem, name)
        yield from about_constants(problem.X)
        yield from about_leaks(problem, visible)


def about_column(problem: Problem, name: str) -> Iterator[str]:
    """Why a column may not be what the user takes it for."""
    from vmtl.data.column_types import column_formats
    from vmtl.data.columns import as_numbers, looks_like_identifier, numbers_the_rows
    from vmtl.data.leaks import tells_target

    column, form = problem.X[name], column_formats(problem.X[[name]])[str(name)]
    if form.is_guess:
        yield about_guess(column, form)
    if form.kind == "text":
        yield from filter(None, [about_slips(column)])
        if looks_like_identifier(column):
            yield f"{name!r} looks like an identifier, with a different text in every row; {drop(name)}."
        return
    if form.has_gaps_for_odd and (odd := unread(column, form)):
        yield f"In {name!r}, {odd} cannot be read as a {form.kind}, and count as missing."
    values = as_numbers(column, form)
    tells = form.kind == "number" and tells_target(values, problem.y, problem.task, problem.is_classification)
    if form.kind == "number" and numbers_the_rows(name, values, tells=tells):
        yield f"{name!r} looks like a row number or an identifier: whole numbers, all different; {drop(name)}."
    else:
        yield from filter(None, [about_values(f"Column {name!r}", values, problem.task, form)])


def unread(column: pd.Series, form: ColumnFormat) -> str:
    """``3 cells such as '<0.5'``: those that cannot be read; empty if there are none."""
    import numpy as np

    odd = np.flatnonzero(np.isnan(form.read(column)) & column.notna().to_numpy())
    return f"{counted(len(odd), 'cell')} such as {column.iloc[odd[0]]!r}" if len(odd) else ""


def about_guess(column: pd.Series, form: ColumnFormat) -> str:
    """That the cells of a column allow two readings."""
    from vmtl.data.cells import parse_number

    name, option = str(column.name), shlex.quote(str(column.name))
    cells = column.dropna().astype(str)
    if form.kind == "number":
        cell = next(iter(cells[cells.str.contains("[.,]")]), cells.iloc[0])
        other = f"--type {option}=decimal-{'point' if form.decimal == ',' else 'comma'}"
        number = parse_number(cell, form.decimal)
        return f"In {name!r}, {cell!r} is read as the number {number:.15g}; if that is wrong, add {other}."
    read, other = ("month", "day-first") if form.order == "mdy" else ("day", "month-first")
    return (
        f"The dates in {name!r}, such as {cells.iloc[0]!r}, do not show which part is the day; they are read with the "
        f"{read} first. If that is wrong, add --type {option}={other}."
    )


def about_slips(column: pd.Series) -> str | None:
    """That a few cells keep a column from being numbers or dates."""
    from vmtl.data.column_types import nearest_format

    found = nearest_format(column)
    if found is None:
        return None
    form, odd = found
    share = int(100 * (1 - len(odd) / column.notna().sum()))
    cells = counted(len(odd), "cell")
    are, them = ("is", "it") if len(odd) == 1 else ("are", "them")
    option = shlex.quote(str(column.name))
    return (
        f"{column.name!r} is {share} % {form.kind}s; {cells} such as {column.iloc[odd[0]]!r} {are} not, "
        f"so it is treated as text; correct {them}, or count {them} as missing with --type {option}={form.kind}."
    )


def about_values(what: str, values: Array, task: Array, form: ColumnFormat | None = None) -> str | None:
    """That a few values lie far from all others, with their rows."""
    import numpy as np

    from vmtl.data.odd_values import odd_values

    odd = odd_values(values, task)
    if not len(odd):
        return None
    several = len(odd) > 1
    example = f"{'such as ' if several and len(np.unique(values[odd])) > 1 else ''}{shown_value(values[odd[0]], form)}"
    low, high = (shown_value(end(np.delete(values, odd)), form) for end in (np.nanmin, np.nanmax))
    rows = first_few([str(place + 1) for place in odd], MOST_NAMED)
    return (
        f"{what} has {counted(len(odd), 'value')} far from all others ({example}, in data "
        f"row{'s' if several else ''} {rows}); the rest lie between {low} and {high}. "
        f"Check {'them' if several else 'it'}: a few such values can ruin a model."
    )


def shown_value(value: float, form: ColumnFormat | None = None) -> str:
    """A number as people write it, or a day."""
    import datetime

    if form is not None and form.kind == "date":
        return str(datetime.date(1970, 1, 1) + datetime.timedelta(days=int(value // 1)))
    if form is not None and form.unit == "%":
        return f"{100 * value:.4g}%"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.5g}"


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
