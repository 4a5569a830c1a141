"""Columns that were named by options: what is said of those that a table does not have."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from vmtl._utils.missing_columns import MissingColumnsError, choose_with

#: Names of the task and target where nobody says: those of feature files.
DEFAULT_TASK, DEFAULT_TARGET = "domain", "label"


@contextmanager
def named_by_options(assumed: Collection[str] = (), model: bool = False) -> Iterator[None]:
    """Errors on missing columns speak of options; ``assumed`` = arguments whose column nobody named.

    With a ``model`` it is its file that might have recorded them.
    """
    try:
        yield
    except MissingColumnsError as error:
        guessed = {column: name for column, name in error.absent.items() if name in assumed}
        if guessed and model:
            raise ValueError(not_recorded(*guessed.values())) from None
        if guessed:
            raise ValueError(_not_said(error, guessed)) from None
        raise ValueError(f"{error.facts()} {choose_with(f'--{name}' for name in error.arguments)}") from None


def not_recorded(*arguments: str) -> str:
    """The sentence on a model file that does not say which columns were the task and the target."""
    options = " ".join(f"--{name} COLUMN" for name in arguments)
    columns = "column" if len(arguments) == 1 else "columns"
    return f"The model file does not record its {' and '.join(arguments)} {columns}; add {options}."


def _not_said(error: MissingColumnsError, guessed: dict[str, str]) -> str:
    """The sentence on options that were left out although their default is no column."""
    options = " ".join(f"--{name} COLUMN" for name in guessed.values())
    names, columns = " and the ".join(guessed.values()), " and ".join(map(repr, guessed))
    if len(guessed) == 1:
        return f"Say which column holds the {names}: {options} (the default, {columns}, is not in {error.table})."
    return f"Say which columns hold the {names}: {options} (the defaults, {columns}, are not in {error.table})."
